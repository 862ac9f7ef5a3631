// SPDX-License-Identifier: Apache-2.0
// Registered memory of a communicator, and eviction of plans.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/world/host_memory.hpp"
#include "collectives/world/signal.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

constexpr std::size_t least_arena = std::size_t{64} << 20;

std::size_t whole_lines(std::size_t bytes) {
    return std::max(cache_line, round_up(bytes, cache_line));
}

}  // namespace

// Each arena is as large as all earlier ones together, so there are few.
RegisteredMemory::Arena& RegisteredMemory::new_arena(std::size_t at_least) {
    std::size_t bytes = std::max(least_arena, at_least);
    std::size_t so_far = 0;
    for (const Arena& arena : arenas_)
        if (arena.own || arena.unregistered) so_far += arena.memory.size();
    bytes = std::max(bytes, so_far);
    Arena arena;
    try {
        arena.own = host_memory(world_, bytes);
        arena.shared = arena.own.get();
        arena.memory = arena.own->mine();
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank has ended or timed out
        arena.unregistered = make_on_all_ranks(world_, "memory of a communicator", [&] {
            return std::make_unique_for_overwrite<std::byte[]>(at_least);
        });
        arena.memory = {arena.unregistered.get(), at_least};
    }
    arena.free.emplace(0, arena.memory.size());
    return arenas_.emplace_back(std::move(arena));
}

std::span<std::byte> RegisteredMemory::take(Arena& arena, std::size_t bytes) {
    const auto room =
        std::ranges::find_if(arena.free, [&](const auto& piece) { return piece.second >= bytes; });
    if (room == arena.free.end()) return {};
    const auto [offset, size] = *room;
    arena.free.erase(room);
    if (size > bytes) arena.free.emplace(offset + bytes, size - bytes);
    arena.used.emplace(offset, bytes);
    return arena.memory.subspan(offset, bytes);
}

std::span<std::byte> RegisteredMemory::allocate(std::size_t bytes) {
    constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max() / 2;
    if (bytes > static_cast<std::size_t>(most))
        throw Error(fmt::format("cannot allocate {} bytes; allocate less", bytes));
    const std::size_t whole = whole_lines(bytes);
    std::span<std::byte> found;
    for (Arena& arena : arenas_)
        if (found.empty()) found = take(arena, whole);
    if (found.empty()) found = take(new_arena(whole), whole);
    std::ranges::fill(found, std::byte{0});
    return found.first(bytes);
}

void RegisteredMemory::release(std::span<std::byte> memory) {
    for (Arena& arena : arenas_) {
        const std::byte* const begin = arena.memory.data();
        if (memory.data() < begin || memory.data() >= begin + arena.memory.size()) continue;
        const auto known = arena.used.find(static_cast<std::size_t>(memory.data() - begin));
        if (known == arena.used.end()) break;
        auto [piece, is_new] = arena.free.insert(*known);
        arena.used.erase(known);
        const auto next = std::next(piece);
        if (next != arena.free.end() && piece->first + piece->second == next->first) {
            piece->second += next->second;
            arena.free.erase(next);
        }
        if (piece == arena.free.begin()) return;
        const auto before = std::prev(piece);
        if (before->first + before->second == piece->first) {
            before->second += piece->second;
            arena.free.erase(piece);
        }
        return;
    }
    throw Error("released memory is not allocated; pass what allocate() returned, once");
}

void RegisteredMemory::adopt(const ReachableMemory& memory) {
    const auto is_it = [&](const Arena& arena) { return arena.shared == &memory; };
    if (std::ranges::any_of(arenas_, is_it)) return;
    const auto is_left = [](const Arena& arena) { return arena.memory.data() == nullptr; };
    const auto left = std::ranges::find_if(arenas_, is_left);
    Arena& arena = left != arenas_.end() ? *left : arenas_.emplace_back();
    arena.shared = &memory;
    arena.memory = memory.mine();
}

std::int32_t RegisteredMemory::disown(const ReachableMemory& memory) {
    const auto is_it = [&](const Arena& arena) { return arena.shared == &memory && !arena.own; };
    const auto it = std::ranges::find_if(arenas_, is_it);
    if (it == arenas_.end()) return -1;
    *it = {};
    return static_cast<std::int32_t>(it - arenas_.begin());
}

RegisteredPlace RegisteredMemory::place_of(std::span<const std::byte> buffer) const {
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
        const std::span<const std::byte> memory = arenas_[i].memory;
        if (buffer.data() < memory.data() || arenas_[i].shared == nullptr) continue;
        const auto offset = static_cast<std::size_t>(buffer.data() - memory.data());
        if (offset + buffer.size() <= memory.size()) return {static_cast<std::int32_t>(i), offset};
    }
    return {};
}

const ReachableMemory* RegisteredMemory::arena(std::int32_t number) const {
    return number < 0 ? nullptr : at(arenas_, number).shared;
}

std::span<std::byte> Communicator::State::allocate(std::size_t bytes) {
    std::span<std::byte> memory;
    guarded([&] {
        forget_recent();
        memory = registered.allocate(bytes);
    });
    return memory;
}

// After a failure, the destructor frees the memory.
void Communicator::State::release(std::span<std::byte> memory) {
    if (is_broken) return;
    guarded([&] {
        forget_recent();
        registered.release(memory);
    });
}

void Communicator::State::adopt(const ReachableMemory& memory) {
    guarded([&] {
        forget_recent();
        registered.adopt(memory);
    });
}

// Pending plans end first. After the barrier they have ended on all ranks.
template <class Is>
void Communicator::State::forget_if(Is&& is) {
    for (const CachedPlan& plan : plans)
        if (is(plan))
            for (const Request::Slot* slot : plan.slots)
                if (!slot->is_done()) slot->plan->wait();
    world.barrier();
    std::erase_if(choices_, [&](const auto& known) { return is(*known.second.plan); });
    recent_.forget_if(is);
    classes_.forget_if(is);
    std::erase_if(plans, [&](CachedPlan& plan) {
        if (!is(plan)) return false;
        for (Request::Slot* slot : plan.slots) {
            slot->operation.reset();
            slot->plan = nullptr;
            free_slots_.push_back(slot);
        }
        return true;
    });
}

void Communicator::State::evict_the_oldest() {
    ++evictions;
    const auto oldest = std::ranges::min_element(plans, {}, &CachedPlan::last_use);
    forget_if([oldest = &*oldest](const CachedPlan& plan) { return &plan == oldest; });
}

// Frees the memory of the plans that only this configuration of a search has used. Collective.
void Communicator::State::forget_plans_of(const Configuration& dropped) {
    std::set<const CachedPlan*> unused;
    std::erase_if(choices_, [&](const auto& known) {
        const bool is_dropped = known.first.preferred == &dropped;
        if (is_dropped) unused.insert(known.second.plan);
        return is_dropped;
    });
    for (const auto& [key, chosen] : choices_) unused.erase(chosen.plan);
    if (!unused.empty()) forget_if([&](const CachedPlan& plan) { return unused.contains(&plan); });
}

void Communicator::State::disown(const ReachableMemory& memory) {
    guarded([&] {
        const std::int32_t arena = registered.disown(memory);
        if (arena < 0) return;
        forget_if([&](const CachedPlan& plan) { return plan.key.arena() == arena; });
        forget_recent();
    });
}

}  // namespace tutti
