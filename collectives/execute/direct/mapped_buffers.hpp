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

/// What a rank tells its peers of the buffers that it works in, in memory that all of them see. It
/// changes between two runs only. A peer may look between its first wait for this rank in a run and
/// the last time that it comes to the buffers then, which the run does not end before.
struct alignas(cache_line) PublishedBuffers {
    struct Buffer {
        PeerMemory memory;
        HeapPlace place;  ///< in the heap of another process; of 0 bytes if it is not there
    };
    std::uint64_t version = 0;  ///< a higher one each time that the buffers change
    Buffer input, output;       ///< in place all is output, see CallerMemory
};

/// Buffers that peers load and store where they are, in the heaps of the ranks' processes. For a
/// buffer that is in none a piece of the heap stands in: a run copies its input there first, and
/// its output back at the end. Where ranks are threads of one process, all memory will do.
class MappedBuffers {
public:
    explicit MappedBuffers(World& world);

    /// The given buffers, or those that stand in for them, for the runs from now on. A few ns,
    /// unless it needs memory: throws Error if the heap has none.
    CallBuffers reachable(const CallBuffers& given);
    /// True if the program has mapped over memory of the heap since the last reachable(). Call
    /// reachable() again, because its answer may differ.
    bool is_outdated() const { return arenas_ != nullptr && heap_->changes() != seen_changes_; }

    void copy_in() const {
        if (input_copy_ != nullptr) copy(given_.input, input_copy_);
    }
    void copy_out() const {
        if (output_copy_ != nullptr)
            copy({output_copy_, given_.output.size()}, given_.output.data());
    }

    /// What peers need to know of such a buffer.
    HeapPlace place_of(std::span<const std::byte> reachable) const;
    /// Where this process has a peer's buffer; null if it is empty. A few ns if its heap is known.
    std::byte* address_of(const PublishedBuffers::Buffer& buffer) const;

private:
    static void copy(std::span<const std::byte> from, std::byte* to);
    std::byte* reachable(std::span<std::byte> memory, std::shared_ptr<std::byte>& stand_in) const;

    std::optional<Heap> heap_;
    PeerArenas* arenas_;                                           // none where ranks are threads
    std::shared_ptr<std::byte> input_stand_in_, output_stand_in_;  // once needed
    std::uint64_t seen_changes_ = 0;  // heap_->changes() at the last reachable()
    CallBuffers given_;
    std::byte *input_copy_ = nullptr, *output_copy_ = nullptr;  // of these, where needed
};

}  // namespace tutti
