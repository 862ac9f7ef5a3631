// SPDX-License-Identifier: Apache-2.0
// Runs calls whose length rarely repeats. Their data are copied into slots of a few sizes, so that
// few plans serve all lengths.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/world/signal.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

// Above this size, a plan costs less than copying into a slot and back.
constexpr std::size_t most_bytes_in_slots = std::size_t{8} << 20;

// Returns the smallest slot that holds `bytes`: at least 512 B, then powers of two, and above 4 KiB
// also their midpoints. All are multiples of 8, so that they hold whole elements.
std::size_t slot_for(std::size_t bytes) {
    constexpr std::size_t least = 512, fine_from = 4096;
    const std::size_t whole = std::bit_ceil(std::max(bytes, least));
    const std::size_t halfway = whole / 4 * 3;
    return whole > fine_from && bytes <= halfway ? halfway : whole;
}

Call in_slot(Call call) {
    const std::size_t size = size_of(call.type);
    call.count = static_cast<std::int64_t>(slot_for(as_size(call.count) * size) / size);
    return call;
}

// Bytes of input and output in a slot: the maximum over all ranks, so equal on all of them.
struct SlotBytes {
    std::size_t input = 0, output = 0;

    SlotBytes(const Call& slot, int ranks) {
        for (const Rank rank : {slot.root, Ring(ranks).next(slot.root)}) {
            input = std::max(input, input_bytes(slot, ranks, rank));
            output = std::max(output, output_bytes(slot, ranks, rank));
        }
        input = round_up(input, cache_line);
    }
    std::size_t all() const { return input + output; }
};

// Copies blocks that are `from_step` bytes apart to places that are `to_step` bytes apart.
void copy_blocks(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                 std::size_t blocks, std::size_t bytes) {
    for (std::size_t block = 0; block < blocks; ++block)
        std::memcpy(to + block * to_step, from + block * from_step, bytes);
}

}  // namespace

bool Communicator::State::is_admitted(const CallArguments& call, CallMode mode) {
    if (is_preloaded) return true;
    const Call& what = call.call;
    const std::int64_t bytes = total_bytes(what, world.size());
    const CallKey key{.call = comparable(what), .mode = mode};
    const auto agree = [&](const PlanAdmission::Times& mine) {
        auto all = mine;
        for (const auto& [elapsed_ns, spent_ns] : gather_all(world, mine))
            all = {std::min(all.elapsed_ns, elapsed_ns), std::max(all.spent_ns, spent_ns)};
        return all;
    };
    return admission_.admits(HashOfCallKey{}(key), bytes, making_ns, PlanAdmission::ns_of_plan,
                             agree) ||
           what.count == 0 || as_size(bytes) > most_bytes_in_slots;
}

// Slots are in registered memory. A reduction also combines the unused end of a slot. It is zeroed,
// because random bits could be slow to add or raise floating-point exceptions.
void Communicator::State::run_in_slot(const CallArguments& call) {
    const Call slot = in_slot(call.call);
    const SlotBytes needed(slot, world.size());
    if (slot_memory_.size() < needed.all()) {
        recent_.forget();
        if (!slot_memory_.empty()) registered.release(slot_memory_);
        slot_memory_ = {};
        slot_memory_ = registered.allocate(std::bit_ceil(needed.all()));
    }
    const std::size_t block = as_size(call.call.count) * size_of(call.call.type);
    const std::size_t slot_block = as_size(slot.count) * size_of(slot.type);
    const std::size_t inputs = call.buffers.input.size() / block,
                      outputs = call.buffers.output.size() / block;
    CallBuffers buffers{slot_memory_.first(inputs * slot_block),
                        slot_memory_.subspan(needed.input, outputs * slot_block)};
    if (slot.collective == Collective::broadcast) {
        const auto data = slot_memory_.first(slot_block);
        buffers = {data, data, /*in_place=*/true};
    }
    std::byte* const memory = slot_memory_.data();
    copy_blocks(memory, slot_block, call.buffers.input.data(), block, inputs, block);
    if (reduces(slot.collective))
        for (std::size_t input = 0; input < inputs; ++input)
            std::fill_n(memory + input * slot_block + block, slot_block - block, std::byte{0});
    run_planned({slot, buffers});
    if (!has_result_before(call.call, call.buffers, world.rank()))
        copy_blocks(call.buffers.output.data(), block, buffers.output.data(), slot_block, outputs,
                    block);
}

}  // namespace tutti
