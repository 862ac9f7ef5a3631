// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/world/heap.hpp"
#include "collectives/world/peer_memory.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

/// A rank's current buffers, in memory that all peers read. They change only between two runs. A
/// peer may read this after its first wait for this rank in a run, until its last access to the
/// buffers in that run, which the run waits for.
struct alignas(cache_line) PublishedBuffers {
    struct Buffer {
        PeerMemory memory;
        HeapPlace place;             ///< in the heap of another process; 0 bytes if it is not there
        std::size_t registered = 0;  ///< offset in the registered memory, if the plan has such
    };
    std::uint64_t version = 0;  ///< grows each time the buffers change
    Buffer input, output;       ///< in place, everything is output, see CallerMemory
};

/// Buffers that peers load and store in place, in the heaps of the ranks' processes. A buffer
/// outside of these heaps is staged: a run copies the input to a piece of the heap first, and the
/// output back at the end. If ranks are threads of one process, any memory will do.
class MappedBuffers {
public:
    explicit MappedBuffers(World& world);

    /// Returns the caller's buffers, or their staging buffers, for the runs from now on. Takes a
    /// few ns, unless it allocates: throws Error if the heap is full.
    CallBuffers reachable(const CallBuffers& given);
    /// Whether the program has mapped over memory of the heap since the last reachable(). Call
    /// reachable() again, because its answer may differ.
    bool is_outdated() const { return arenas_ != nullptr && heap_->changes() != seen_changes_; }

    void copy_in() const {
        if (input_copy_ != nullptr) copy(given_.input, input_copy_);
    }
    void copy_out() const {
        if (output_copy_ != nullptr)
            copy({output_copy_, given_.output.size()}, given_.output.data());
    }

    /// Returns the information with which peers reach such a buffer.
    HeapPlace place_of(std::span<const std::byte> reachable) const;
    /// Returns where this process has mapped a peer's buffer; null if it is empty. Takes a few ns
    /// if the heap is known.
    std::byte* address_of(const PublishedBuffers::Buffer& buffer) const;

private:
    static void copy(std::span<const std::byte> from, std::byte* to);
    // Memory of the heap in which a buffer outside of it is staged.
    struct StandIn {
        std::shared_ptr<std::byte> memory;
        std::size_t bytes = 0;
    };
    std::byte* reachable(std::span<std::byte> memory, StandIn& stand_in) const;

    std::optional<Heap> heap_;
    PeerArenas* arenas_;                        // null if ranks are threads
    StandIn input_stand_in_, output_stand_in_;  // allocated on first use
    std::uint64_t seen_changes_ = 0;            // heap_->changes() at the last reachable()
    CallBuffers given_;
    std::byte *input_copy_ = nullptr, *output_copy_ = nullptr;  // in the staging buffers, if used
};

}  // namespace tutti
