// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/host/mapped_buffers.hpp"

#include <bit>

#include "base/error.hpp"
#include "kernels/copy.hpp"

namespace tutti {

MappedBuffers::MappedBuffers(World& world)
    : heap_(Heap::find()), arenas_(world.one_process() ? nullptr : &peer_arenas(world)) {}

CallBuffers MappedBuffers::reachable(const CallBuffers& given) {
    if (arenas_ != nullptr) seen_changes_ = heap_->changes();
    const CallerMemory caller(given);
    std::byte* const input = reachable(caller.memory(Place::In::input), input_stand_in_);
    std::byte* const output = reachable(caller.memory(Place::In::output), output_stand_in_);
    const auto moved = [&](const std::byte* begin) -> std::byte* {
        const auto place = caller.place_of(begin);
        if (!place) return nullptr;  // the buffer is empty
        return (place->in == Place::In::input ? input : output) + place->offset;
    };
    const auto if_it_moves = [&](const std::byte* begin) {
        return moved(begin) == begin ? nullptr : moved(begin);
    };
    given_ = given;
    input_copy_ = if_it_moves(given.input.data());
    output_copy_ = if_it_moves(given.output.data());
    CallBuffers used = given;
    used.input = {moved(given.input.data()), given.input.size()};
    used.output = {moved(given.output.data()), given.output.size()};
    return used;
}

std::byte* MappedBuffers::reachable(std::span<std::byte> memory, StandIn& stand_in) const {
    if (memory.empty() || arenas_ == nullptr || heap_->place_of(memory)) return memory.data();
    if (stand_in.bytes < memory.size()) {
        stand_in.memory = {};
        stand_in = {heap_->allocate(std::bit_ceil(memory.size())), std::bit_ceil(memory.size())};
    }
    if (stand_in.memory == nullptr)  // the other ranks continue and wait for this one
        throw Error("the heap has no room for a copy of a buffer outside of it", Exit::rank_lost);
    return stand_in.memory.get();
}

HeapPlace MappedBuffers::place_of(std::span<const std::byte> reachable) const {
    if (reachable.empty() || arenas_ == nullptr) return {};
    return heap_->place_of(reachable).value();
}

std::byte* MappedBuffers::address_of(const PublishedBuffers::Buffer& buffer) const {
    if (buffer.place.bytes > 0) return arenas_->address_of(buffer.place);
    return buffer.memory.address;
}

void MappedBuffers::copy(std::span<const std::byte> from, std::byte* to) {
    copy_in_blocks(to, from.data(), from.size());
}

}  // namespace tutti
