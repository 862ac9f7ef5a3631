// SPDX-License-Identifier: Apache-2.0
#include "collectives/planner/planner.hpp"

#include <algorithm>
#include <new>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/execute/plan/tried_plan.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/transport/gpu/device_memory.hpp"
#include "collectives/transport/gpu/staged.hpp"
#include "collectives/world/heap.hpp"
#include "collectives/world/host_memory.hpp"
#include "collectives/world/peer_memory.hpp"

namespace tutti {
namespace {

// Buffers in registered memory of a device belong to that device, also for messages.
CallBuffers with_device(CallBuffers buffers, const ReachableMemory* registered) {
    if (buffers.device == nullptr && registered != nullptr && registered->device() != nullptr)
        buffers.device = registered->device()->for_messages();
    return buffers;
}

std::vector<int> hosts_by_rank(const Placement& hosts, int ranks) {
    std::vector<int> by_rank(as_size(ranks));
    int number = 0;
    for (const auto& host : hosts.nodes()) {
        for (const Rank rank : host) at(by_rank, rank) = number;
        ++number;
    }
    return by_rank;
}

}  // namespace

// Ranks whose buffers are outside the heap copy them on every call, so this should be the
// exception. The heap needs room for the copies.
BuffersOfAll::BuffersOfAll(std::span<const BufferTraits> of_ranks) {
    const auto ranks_with = [&](BufferTraits::Heap heap) {
        return std::ranges::count(of_ranks, heap, &BufferTraits::heap);
    };
    are_registered = std::ranges::all_of(of_ranks, &BufferTraits::are_registered);
    are_in_heaps = ranks_with(BufferTraits::Heap::has_no_room) == 0 &&
                   2 * ranks_with(BufferTraits::Heap::has_buffers) > std::ssize(of_ranks);
}

Planner::Opened& Planner::opened(std::string_view name) {
    const auto known = opened_.find(name);
    if (known != opened_.end()) return known->second;
    const TransportRow& row = find_transport(name);
    Opened one;
    if (row.build_lacks != nullptr) one.refusal = missing_on_any(world_, row.missing());
    if (!one.refusal) one.refusal = row.refuses(world_);
    if (!one.refusal) {
        one.transport = row.open(world_, fault_);
        one.methods = row.methods.without(one.transport.unusable);
    }
    return opened_.emplace(name, std::move(one)).first->second;
}

std::optional<std::string> Planner::refuses(std::string_view transport,
                                            std::optional<BufferKind> buffers,
                                            const ReachableMemory* registered) {
    const Opened& found = opened(transport);
    if (found.refusal) return found.refusal;
    Accelerator* const holder = registered == nullptr ? nullptr : registered->device();
    const auto* there = on_device(transport);
    const bool reaches = there != nullptr ? holder == there->device.get()
                                          : holder != nullptr && holder->for_messages() != nullptr;
    if (holder != nullptr && !reaches)
        return std::string(transport) +
               " does not reach buffers on that device; use --buffers registered";
    if (holder != nullptr) buffers = BufferKind::device;
    const TransportRow& row = find_transport(transport);
    if (buffers && *buffers != BufferKind::device && row.between_devices)
        return "needs --buffers device";
    if (buffers == BufferKind::device && row.methods.are_of_one_host() &&
        !row.methods.has(TransferMethod::lines))
        return "does not reach GPU memory; use --transport shm";
    return std::nullopt;
}

// A library without support for devices would use a device's address as a host address. Such
// messages are staged over a separate transport, with separate plan numbers.
MessageTransport& Planner::between_devices(std::string_view name, MemoryDevice& device) {
    Opened& found = opened(name);
    const TransportRow& row = find_transport(name);
    if (row.between_devices) return *found.transport.messages;
    auto& staged = found.staged[&device];
    if (staged == nullptr)
        staged = row.methods.has(TransferMethod::messages)
                     ? staged_transport(world_, device, row.open(world_, fault_).messages)
                     : shared_rings_transport(world_, device);
    return *staged;
}

std::string Planner::details(std::string_view transport) {
    const Opened& found = opened(transport);
    if (found.transport.devices) return found.transport.devices->details();
    return found.transport.messages ? found.transport.messages->details() : "";
}

// Returns null if it is not one, or cannot be used here.
const DevicePlaces* Planner::on_device(std::string_view name) {
    return opened(name).transport.devices.get();
}

bool Planner::is_virtual(std::string_view transport) {
    const DevicePlaces* device = on_device(transport);
    return device != nullptr && device->is_virtual;
}

std::unique_ptr<ReachableMemory> Planner::registered_memory(std::string_view transport,
                                                            std::size_t bytes) {
    const Opened& found = opened(transport);
    if (found.refusal) throw Error(*found.refusal);
    if (const DevicePlaces* device = on_device(transport))
        return std::make_unique<DeviceMemory>(world_, device->device, bytes);
    return host_memory(world_, bytes);
}

std::shared_ptr<std::byte> Planner::pinned_memory(std::string_view transport, std::size_t bytes) {
    const Opened& found = opened(transport);
    if (found.refusal) throw Error(*found.refusal);
    const DevicePlaces* device = on_device(transport);
    if (device == nullptr || device->device->for_messages() == nullptr)
        throw Error(std::string(transport) + " has no devices that copy from host memory");
    return make_on_all_ranks(world_, "pinned buffers",
                             [&] { return device->device->for_messages()->pinned(bytes); });
}

std::unique_ptr<Plan> Planner::plan(const Choice& choice, const Call& call,
                                    const CallBuffers& given, const ReachableMemory* registered,
                                    std::int64_t most_bytes,
                                    const std::optional<BuffersOfAll>& known) {
    const CallBuffers buffers = with_device(given, registered);
    const std::string& transport = choice.configuration.transport;
    Call most = call;
    if (on_device(transport) == nullptr) {
        most.lengths = nullptr;
        if (most_bytes > 0) {
            most.type = DataType::uint8;
            most.count = most_bytes;
        }
    }
    Route route = this->route(choice, most, buffers, registered, known);
    PlanRequest request{
        .schedule = std::move(route.schedule),
        .call = most,
        .buffers = buffers,
        .what = std::string(name_of(call.collective)) + " " + std::string(choice.algorithm->name) +
                " (" + transport + ")",
        .registered = route.buffers == BufferKind::registered ? registered : nullptr,
        .runs = runs_on_devices_,
        .stores = route.stores};
    SharedPlanMemory memory(world_);
    std::unique_ptr<Plan> made;
    int number = plans_made_;
    // All ranks count all plans, also if one lacks memory for them.
    for (const Way& way : route.ways) {
        plans_made_ += way.lanes.count;
        request.runs_ahead = std::max(request.runs_ahead, way.runs_ahead);
    }
    try {
        std::vector<std::unique_ptr<Plan>> plans;
        for (const Way& way : route.ways) {
            plans.push_back(plan_by(way, number, transport, request, memory));
            number += way.lanes.count;
        }
        made = plans.size() == 1 ? std::move(plans.front())
                                 : tried_plan(progress_, request, std::move(plans), memory);
    } catch (const std::bad_alloc&) {
        memory.lacks_memory();
    }
    memory.provide(request.what, [&] { made->bind(call, buffers); });
    return made;
}

Route Planner::route(const Choice& choice, const Call& call, const CallBuffers& given,
                     const ReachableMemory* registered, const std::optional<BuffersOfAll>& known) {
    const CallBuffers buffers = with_device(given, registered);
    const std::string& transport = choice.configuration.transport;
    if (const auto refusal = refuses(transport, memory_of(buffers), registered))
        throw Error(*refusal);
    const TransferMethods methods = opened(transport).methods;
    const BufferKind kind = kind_of(buffers, methods, registered, known);
    return route_of(choice, {call, kind, world_.hosts(), buffers.in_place, world_.oversubscribed},
                    methods, tuning_);
}

std::unique_ptr<Plan> Planner::plan_by(const Way& way, int number, std::string_view transport,
                                       PlanRequest request, SharedPlanMemory& memory) {
    request.method = way.method;
    request.lanes = way.lanes;
    request.runs_ahead = way.runs_ahead;
    request.schedule = schedule_of(request.schedule, way);
    request.stores = stores_of(request.stores, request.call.collective, way);
    request.number = number;
    switch (way.method) {
        using enum TransferMethod;
        case messages:
        case lines:
            return host_plan(progress_,
                             request.buffers.device == nullptr
                                 ? opened(transport).transport.messages.get()
                                 : &between_devices(transport, *request.buffers.device),
                             request, memory);
        case device_lines:
        case device_memory:
            return device_plan(progress_, *on_device(transport), request);
        default:
            if (world_.one_host()) return host_plan(progress_, nullptr, request, memory);
            request.hosts = hosts_by_rank(world_.hosts(), world_.size());
            return host_plan(progress_, opened(transport).transport.messages.get(), request,
                             memory);
    }
}

// Returns the kind of memory of all ranks' buffers, as far as these methods depend on it.
// Collective, unless that is known.
BufferKind Planner::kind_of(const CallBuffers& buffers, TransferMethods methods,
                            const ReachableMemory* registered,
                            const std::optional<BuffersOfAll>& known) {
    if (!methods.are_of_devices() && buffers.device != nullptr) return BufferKind::device;
    const bool may_be_registered =
        methods.are_of_devices() ? registered != nullptr && registered->device() != nullptr
                                 : registered != nullptr && methods.has(TransferMethod::registered);
    const bool may_be_mapped = !methods.are_of_devices() && methods.has(TransferMethod::mapped) &&
                               !methods.has_only({TransferMethod::mapped});
    if (!may_be_registered && !may_be_mapped) return BufferKind::unregistered;
    const BuffersOfAll all =
        known ? *known : BuffersOfAll(gather_all(world_, traits_of(buffers, registered)));
    if (may_be_registered && all.are_registered) return BufferKind::registered;
    return may_be_mapped && are_mapped(all) ? BufferKind::mapped : BufferKind::unregistered;
}

BufferTraits Planner::traits_of(const CallBuffers& buffers, const ReachableMemory* registered) {
    const auto are_in = [&](const auto& is_in) {
        return (buffers.input.empty() || is_in(buffers.input)) &&
               (buffers.output.empty() || is_in(buffers.output));
    };
    using enum BufferTraits::Heap;
    BufferTraits traits;
    traits.are_registered = registered != nullptr && are_in([&](std::span<const std::byte> buffer) {
                                return registered->offset_of(buffer).has_value();
                            });
    if (buffers.device != nullptr) return traits;
    const auto heap = Heap::find();
    if (!heap) return traits;
    const auto has_room_for = [&](std::span<const std::byte> buffer) {
        return heap->allocate(buffer.size() + 1) != nullptr;
    };
    if (are_in(
            [&](std::span<const std::byte> buffer) { return heap->place_of(buffer).has_value(); }))
        traits.heap = has_buffers;
    else if (has_room_for(buffers.input) && has_room_for(buffers.output))
        traits.heap = has_room;
    return traits;
}

bool Planner::are_mapped(const BuffersOfAll& buffers) {
    if (!buffers.are_in_heaps) return false;
    if (!heaps_are_reachable_) heaps_are_reachable_ = !heaps_refuse(world_);
    return *heaps_are_reachable_;
}

}  // namespace tutti
