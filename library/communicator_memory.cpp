// SPDX-License-Identifier: Apache-2.0
// Registered memory of a communicator, and plans that it lets go of.
#include <algorithm>

#include "library/communicator_state.hpp"

namespace tutti {

// What is registered decides how a call is done.
std::span<std::byte> Communicator::State::allocate(std::size_t bytes) {
    recent_.forget();
    return registered.allocate(bytes);
}

void Communicator::State::release(std::span<std::byte> memory) {
    recent_.forget();
    registered.release(memory);
}

void Communicator::State::adopt(const ReachableMemory& memory) {
    recent_.forget();
    registered.adopt(memory);
}

// A plan that is under way on this rank ends first. Behind the barrier it has ended on all.
template <class Is>
void Communicator::State::forget_if(Is&& is) {
    for (const auto& [key, call] : calls)
        if (is(key, call))
            for (const Request::Slot* slot : call.slots)
                if (!slot->is_done()) slot->plan->wait();
    world.barrier();
    std::erase_if(calls, [&](const auto& known) {
        if (!is(known.first, known.second)) return false;
        for (Request::Slot* slot : known.second.slots) {
            slot->operation.reset();
            slot->plan = nullptr;
            free_slots_.push_back(slot);
        }
        return true;
    });
    recent_.forget();
}

void Communicator::State::forget_the_oldest() {
    const auto oldest = std::ranges::min_element(
        calls, {}, [](const auto& known) { return known.second.last_use; });
    forget_if([use = oldest->second.last_use](const CallKey&, const CachedPlan& call) {
        return call.last_use == use;
    });
}

void Communicator::State::disown(const ReachableMemory& memory) {
    guarded([&] {
        const std::int32_t arena = registered.disown(memory);
        if (arena < 0) return;
        forget_if([&](const CallKey& key, const CachedPlan&) {
            return key.input.arena == arena || key.output.arena == arena;
        });
    });
}

}  // namespace tutti
