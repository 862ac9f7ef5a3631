// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "collectives/device/memory_device.hpp"
#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/world/peer_memory.hpp"
#include "kernels/sets.hpp"

namespace tutti {

/// The local work of a plan in order: each move combines sources into one or more outputs, or
/// copies one. Neighbouring moves over neighbouring memory are joined when added, so that cutting a
/// message into many chunks costs the executor nothing.
class Moves {
public:
    /// An operand of a move: memory that this process can load and store. In a buffer that may be
    /// replaced in the next run, a peer's or the caller's, it is `offset` bytes from the buffer's
    /// start: either from the address given to place_peer(); or, if the kernel copies it, from
    /// `peer` at the time of the move, without an address.
    struct Operand {
        std::byte* address = nullptr;
        const PeerMemory* peer = nullptr;
        std::size_t offset = 0;
        std::uint32_t blocks = 0;  ///< for rescale(): blocks before it, by which it moves
    };

    /// With a queue, all memory is that of its device.
    Moves(DataType type, Op op, DeviceQueue* queue = nullptr) : queue_(queue) { restart(type, op); }

    /// Removes all moves; those added from now on are of this type and operation. Keeps the memory
    /// of its lists. `one_block_each`: each added move is a block of the same length, so that
    /// rescale() is possible.
    void restart(DataType type, Op op, bool one_block_each = false);
    /// Adapts all moves to another length of a block, type and operation. No length may be 0.
    void rescale(DataType type, Op op, std::size_t old_block, std::size_t block);
    /// Makes room for this many moves with this many operands in all, so that adding them allocates
    /// nothing.
    void reserve(std::size_t moves, std::size_t outs, std::size_t sources);
    /// Sets the start of such a buffer, as mapped by this process.
    void place_peer(const PeerMemory& buffer, std::byte* begin);
    /// Adds a move: each out = sources[0] op sources[1] op ...; `bytes` is a whole number of
    /// elements. Only a `final` move, whose results no rank reads soon, may use streaming stores,
    /// see run().
    void add(std::span<const Operand> outs, std::span<const Operand> sources, std::size_t bytes,
             bool is_final = false);

    /// Prevents moves added from now on from being joined with earlier ones.
    void close() { joinable_from_ = moves_.size(); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(moves_.size()); }

    /// One move, for code that executes moves elsewhere. No operand is another process's.
    struct View {
        std::size_t bytes;
        std::span<std::byte* const> outs;
        std::span<const std::byte* const> sources;
    };
    View at(std::uint32_t number) const {
        const Move& move = moves_[number];
        return {move.bytes,
                {&outs_[move.first_out], move.outs},
                {&sources_[move.first_source], move.sources}};
    }

    /// Executes the moves from `first` up to `end`; the fraction `streaming_share` (0 to 1) of
    /// final ones uses streaming stores. On a device, adds them to its queue. Calls `after_reading`
    /// once the last move has read all its data from other processes through the kernel, before it
    /// adds them. Throws Error only if another process or the device is lost.
    void run(std::uint32_t first, std::uint32_t end, double streaming_share = 0,
             const std::function<void()>* after_reading = nullptr);

private:
    struct Move {
        std::size_t bytes;
        std::uint32_t blocks;
        std::uint32_t first_out, outs;
        std::uint32_t first_source, sources;
        bool is_final;
        bool single_copy;  // the kernel copies from or to another process
    };
    bool joins(const Move& last, std::span<const Operand> outs, std::span<const Operand> sources,
               bool is_final) const;
    bool follows(const Operand& last, const Move& move, const Operand& next) const;
    void use_kernels_for(DataType type, Op op);
    bool replaces_source(const Move& move) const;
    std::size_t beside_result(const Move& move) const;
    std::size_t piece_of(const Move& move) const;
    void make_room_beside(const Move& move);
    void single_copy(const Move& move, const std::function<void()>* after_reading);
    void copy_results(const Move& move, std::size_t done, std::size_t bytes);
    void stream_in_part(const Move& move, double share);

    void queue(const Move& move);

    DataType type_ = {};
    Op op_ = {};
    ReduceKernel reduce_ = nullptr;
    DeviceQueue* queue_;
    std::vector<Move> moves_;
    std::vector<std::byte*> outs_;
    std::vector<const std::byte*> sources_;
    std::vector<Operand> all_outs_, all_sources_;  // operands as they were added
    // For the running move, so that nothing is allocated then: pieces read from other processes,
    // and the addresses of the current part.
    std::vector<std::byte> copied_in_;
    std::vector<const std::byte*> part_sources_;
    std::vector<std::byte*> part_outs_;
    std::size_t joinable_from_ = 0;
    bool one_block_each_ = false;
};

}  // namespace tutti
