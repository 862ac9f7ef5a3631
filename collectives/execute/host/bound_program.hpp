// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/device/memory_device.hpp"
#include "collectives/execute/host/mapped_buffers.hpp"
#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/program/program.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/world/reachable_memory.hpp"

namespace tutti {

/// The common settings of a plan's lanes, and the buffers in which its next run works.
struct HostBuffers {
    Rank me;
    CollectiveSpec spec;
    int chunks;
    bool in_place;
    MemoryDevice* device;  ///< device that holds all memory; null for the host
    const ReachableMemory* registered;
    std::unique_ptr<MappedBuffers> mapped;  ///< null unless the plan works in mapped heaps
    const CallerMemory* memory = nullptr;

    /// Whether the rank loads and stores in its peers' buffers itself.
    bool are_addressed() const { return registered != nullptr || mapped != nullptr; }
};

/// Where a rank's memory of a plan begins that its peers reach.
struct PlanMemory {
    std::byte* data = nullptr;
    const PublishedBuffers* buffers = nullptr;
};

/// A program with addresses instead of places, for one call at a time.
class BoundProgram {
public:
    /// A message and its memory at this rank.
    struct Post {
        Rank peer;
        Moves::Operand memory;
        std::size_t bytes;
        std::uint32_t blocks;  ///< its length, where each chunk is a block
    };
    /// Where the parts of a step end in the lists of moves and posts, which have them in order.
    struct StepEnds {
        std::uint32_t packing = 0, receives = 0, sends = 0, moves = 0;
    };

    /// Allocates the memory that only this rank uses, for the largest call of the request. Throws
    /// Error if memory is insufficient, or the device cannot combine as many sources.
    BoundProgram(const HostBuffers& buffers, const PlanRequest& request,
                 const RankProgram& program);

    DeviceQueue* queue() { return queue_.get(); }
    /// Returns the bytes that peers reach in any call; 0 if the rank has no peers by memory.
    std::size_t most_reachable_bytes() const { return reachable_.end(); }
    /// Returns the needs of any call, except for the plan's number.
    EndpointNeeds needs(std::size_t most_bytes_of_message) const;

    /// Sets the memory that each rank reaches; only this rank's, private, if there are no peers by
    /// memory.
    void place(std::vector<PlanMemory> of_ranks) { memory_ = std::move(of_ranks); }
    /// Turns places into addresses. Adapts those of the last call if that is possible: if only the
    /// buffers have changed, or also the length where each chunk is a block. Takes time in
    /// proportion to the rank's moves, and allocates nothing. `divides`: results are read once
    /// more.
    void bind(const Call& call, bool divides);
    /// Replaces the buffers of a peer by those that it has published.
    void look_up_buffers(Rank peer);

    Moves& moves() { return moves_; }
    const std::vector<Post>& posts() const { return posts_; }
    StepEnds ends(std::size_t step) const { return ends_[step]; }
    std::uint32_t prologue_end() const { return prologue_end_; }
    std::uint32_t early_end() const { return early_end_; }

private:
    // Where this process finds the buffers of a rank.
    struct Begins {
        std::byte *input = nullptr, *output = nullptr;
    };
    struct Binding;

    std::shared_ptr<std::byte> allocate(std::size_t bytes) const;
    void make_room();
    void expect_room_for_sources(DataType type) const;
    bool rescale(const Call& call, bool divides);
    bool has_block_for_chunk() const { return buffers_.spec.blocks() == buffers_.chunks; }
    Begins callers_buffers() const;
    void replace_buffers();
    void add_messages(const ProgramStep& step, StepEnds& ends, const Binding& binding);
    std::uint32_t add_moves(const std::vector<ChunkMove>& moves, const Binding& binding);
    Moves::Operand operand(const MovePlace& end, const Binding& binding) const;

    const HostBuffers& buffers_;
    const RankProgram& program_;
    MostBytes most_;
    ProgramMemory reachable_;
    std::unique_ptr<DeviceQueue> queue_;
    Moves moves_;
    std::vector<Post> posts_;
    std::vector<StepEnds> ends_;
    std::optional<Call> bound_;  // if its blocks have equal lengths
    bool divides_ = false;
    std::uint32_t prologue_end_ = 0, early_end_ = 0;
    std::vector<PlanMemory> memory_;  // by rank
    std::vector<Begins> begins_;      // by rank
    // Memory that only this rank uses. Without peers by memory, what they would reach comes first.
    OwnMemory own_places_;
    std::shared_ptr<std::byte> own_;
    std::size_t most_sources_ = 0;                // sources of one move
    std::vector<Moves::Operand> outs_, sources_;  // operands of the move that is added
};

}  // namespace tutti
