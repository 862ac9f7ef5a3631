// SPDX-License-Identifier: Apache-2.0
#include "collectives/planner/planner.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/execute/plan/tried_plan.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/transport/gpu/device_memory.hpp"
#include "collectives/transport/gpu/staged.hpp"
#include "collectives/world/heap.hpp"
#include "collectives/world/peer_memory.hpp"

namespace tutti {

int segments_for(Bytes vector, Bytes segment) {
    const std::int64_t size = std::max<std::int64_t>(segment.count, 1);
    return static_cast<int>(std::clamp<std::int64_t>(divide_up(vector.count, size), 1, 256));
}

static_assert(knobs[1].least == 2 && knobs[1].most == most_radix &&
              knobs[1].same_as_default == default_radix && knobs[2].most == most_channels);

bool makes_use(const Algorithm& algorithm, const Knob& knob) {
    const auto takes = [&](const Algorithm& row) { return row.takes(knob); };
    return takes(algorithm) || std::ranges::none_of(catalog(), takes);
}

namespace {

Order order_of(const Choice& choice) {
    const std::string& name = choice.configuration.order;
    if (name.empty()) return {};
    const auto known = choice.environment.orders.find(name);
    if (known == choice.environment.orders.end())
        throw Error("unknown order of ranks '" + name + "'");
    return known->second;
}

}  // namespace

Job job_of(const Choice& choice, const Call& call, int ranks, const Placement& hosts) {
    const auto& [algorithm, configuration, environment] = choice;
    const Order order = channels_of(order_of(choice), configuration.channels, ranks);
    const Bytes segment =
        configuration.segment.count > 0 ? configuration.segment : environment.default_segment;
    const std::int64_t vector = call.count * static_cast<std::int64_t>(size_of(call.type));
    const Bytes share{vector / std::max<std::int64_t>(std::ssize(order.channels), 1)};
    return {.collective = call.collective,
            .ranks = ranks,
            .root = call.root,
            .segments = segments_for(share, segment),
            .configuration = configuration,
            .placement = environment.hosts.nodes().empty() ? hosts : environment.hosts,
            .order = order};
}

// More lanes bridge longer pauses of a peer; but with fewer segments each they would hardly
// overlap. Channels have their own lanes, because each waits for its own peers.
Lanes lanes_for(const Algorithm& algorithm, const Job& job, const Schedule& schedule) {
    constexpr int most_lanes = 8;
    const int segments = algorithm.pipelines ? job.segments : 1;
    const auto channels = static_cast<int>(job.order.channels.size());
    const int wanted = segments / 4;
    if (channels <= 1) return {.count = std::clamp(wanted, 1, most_lanes), .segments = segments};
    const auto blocks =
        static_cast<int>(CollectiveSpec{job.collective, job.ranks, job.root}.blocks());
    const int of_each = std::clamp(wanted, 1, std::max(most_lanes / channels, 1));
    return {.count = std::min(channels * of_each, most_lanes),
            .segments = segments,
            .channels = channels,
            .chunks_of_share = schedule.chunks() / blocks / channels};
}

namespace {

// Below this size a trial costs about as much as the pass itself, and the results fit in the
// caches.
constexpr Bytes worth_adapting{1 << 20};

// Unregistered memory is staged in pieces of the host's tuning, or of this size, which lets waiting
// ranks begin earlier.
constexpr Bytes small_piece{8 << 10};
constexpr int many_pieces = 16;  // so that the first one is only a small part
// From this size on it may be faster to let the kernel copy, and up to the next one to copy twice,
// into and out of lines of the LL protocol.
constexpr Bytes worth_system_call{4 << 10};
constexpr Bytes most_in_lines{16 << 10};

// In place, an exchange reads from a copy of its input, which all lanes would have to wait for.
bool goes_in_lanes(const Job& job, const CallBuffers& buffers) {
    return !buffers.in_place || !CollectiveSpec{job.collective, job.ranks}.exchanges();
}

// Whether peers can reach the buffers of all ranks. Collective.
bool all_is_registered(World& world, const PlanRequest& request) {
    if (request.registered == nullptr) return false;
    const auto reaches = [&](std::span<const std::byte> buffer) {
        return buffer.empty() || request.registered->offset_of(buffer).has_value();
    };
    return true_on_all_ranks(world,
                             reaches(request.buffers.input) && reaches(request.buffers.output));
}

// Buffers in registered memory of a device belong to that device, also for messages.
CallBuffers with_device(CallBuffers buffers, const ReachableMemory* registered) {
    if (buffers.device == nullptr && registered != nullptr && registered->device() != nullptr)
        buffers.device = registered->device()->for_messages();
    return buffers;
}

// Returns the size of all buffers of a call: in place, input and output count once.
Bytes bytes_of_all_buffers(const Call& call, int ranks, bool in_place) {
    Bytes all;
    for (Rank rank : all_ranks(ranks)) {
        const std::size_t input = input_bytes(call, ranks, rank),
                          output = output_bytes(call, ranks, rank);
        all.count += static_cast<std::int64_t>(in_place ? std::max(input, output) : input + output);
    }
    return all;
}

}  // namespace

Planner::Opened& Planner::opened(std::string_view name) {
    const auto known = opened_.find(name);
    if (known != opened_.end()) return known->second;
    const TransportRow& row = find_transport(name);
    Opened one;
    one.refusal = missing_on_any(world_, row.missing());
    if (!one.refusal) one.refusal = row.refuses(world_);
    if (!one.refusal) one.transport = row.open(world_, fault_);
    return opened_.emplace(name, std::move(one)).first->second;
}

std::optional<std::string> Planner::refuses(std::string_view transport, MemoryOf memory,
                                            const ReachableMemory* registered) {
    const Opened& found = opened(transport);
    if (found.refusal) return found.refusal;
    Accelerator* const holder = registered == nullptr ? nullptr : registered->device();
    const auto* there = on_device(transport);
    const bool reaches = there != nullptr ? holder == &there->device()
                                          : holder != nullptr && holder->for_messages() != nullptr;
    if (holder != nullptr && !reaches)
        return std::string(transport) +
               " does not reach buffers on that device; use --buffers registered";
    if (holder != nullptr) memory = MemoryOf::device;
    const auto* messages = dynamic_cast<const MessageTransport*>(found.transport.get());
    const auto* host = dynamic_cast<const HostTransport*>(found.transport.get());
    if (memory == MemoryOf::host && messages != nullptr && messages->is_between_devices())
        return "needs --buffers device";
    if (memory == MemoryOf::device && host != nullptr && !host->methods().ll)
        return "does not reach GPU memory; use --transport shm";
    return std::nullopt;
}

// A library without support for devices would use a device's address as a host address. Such
// messages are staged over a separate transport, with separate plan numbers.
MessageTransport& Planner::between_devices(std::string_view name, MemoryDevice& device) {
    Opened& found = opened(name);
    auto* const messages = dynamic_cast<MessageTransport*>(found.transport.get());
    if (messages != nullptr && messages->is_between_devices()) return *messages;
    auto& staged = found.staged[&device];
    if (staged == nullptr) {
        if (messages == nullptr) {  // within a host
            staged = shared_rings_transport(world_, device);
        } else {
            std::unique_ptr<MessageTransport> own(static_cast<MessageTransport*>(
                find_transport(name).open(world_, fault_).release()));
            staged = staged_transport(world_, device, std::move(own));
        }
    }
    return *staged;
}

std::string Planner::details(std::string_view transport) {
    const Opened& found = opened(transport);
    return found.transport ? found.transport->details() : "";
}

// Returns null if it is not one, or cannot be used here.
const DeviceTransport* Planner::on_device(std::string_view name) {
    return dynamic_cast<const DeviceTransport*>(opened(name).transport.get());
}

bool Planner::is_virtual(std::string_view transport) {
    const DeviceTransport* device = on_device(transport);
    return device != nullptr && device->places().is_virtual;
}

std::unique_ptr<ReachableMemory> Planner::registered_memory(std::string_view transport,
                                                            std::size_t bytes) {
    const Opened& found = opened(transport);
    if (found.refusal) throw Error(*found.refusal);
    if (const DeviceTransport* device = on_device(transport))
        return std::make_unique<DeviceMemory>(world_, device->places().device, bytes);
    return std::make_unique<SharedMemory>(world_, bytes);
}

std::shared_ptr<std::byte> Planner::pinned_memory(std::string_view transport, std::size_t bytes) {
    const Opened& found = opened(transport);
    if (found.refusal) throw Error(*found.refusal);
    const DeviceTransport* device = on_device(transport);
    if (device == nullptr || device->device().for_messages() == nullptr)
        throw Error(std::string(transport) + " has no devices that copy from host memory");
    return make_on_all_ranks(world_, "pinned buffers",
                             [&] { return device->device().for_messages()->pinned(bytes); });
}

std::unique_ptr<Plan> Planner::plan(const Choice& choice, const Call& call,
                                    const CallBuffers& given, const ReachableMemory* registered,
                                    std::int64_t most_bytes) {
    const CallBuffers buffers = with_device(given, registered);
    Call most = call;
    if (on_device(choice.configuration.transport) == nullptr) {
        most.lengths = nullptr;
        if (most_bytes > 0) {
            most.type = DataType::uint8;
            most.count = most_bytes;
        }
    }
    auto made = unbound_plan(choice, most, buffers, registered);
    made->bind(call, buffers);
    return made;
}

std::unique_ptr<Plan> Planner::unbound_plan(const Choice& choice, const Call& call,
                                            const CallBuffers& buffers,
                                            const ReachableMemory* registered) {
    const std::string& transport = choice.configuration.transport;
    if (const auto refusal = refuses(transport, memory_of(buffers), registered))
        throw Error(*refusal);
    Opened& found = opened(transport);
    const Job job = job_of(choice, call, world_.size(), world_.hosts());
    if (const auto refusal = choice.algorithm->refuses(job)) throw Error(*refusal);
    const Schedule schedule = build_in_order(*choice.algorithm, job);
    PlanRequest request{.schedule = schedule,
                        .call = call,
                        .buffers = buffers,
                        .what = std::string(name_of(call.collective)) + " " +
                                std::string(choice.algorithm->name) + " (" + transport + ")",
                        .number = plans_made_++,
                        .registered = registered};
    if (const DeviceTransport* device = on_device(transport)) {
        if (registered != nullptr && registered->device() == nullptr) request.registered = nullptr;
        if (!all_is_registered(world_, request)) request.registered = nullptr;
        request.runs = runs_on_devices_;
        return device_plan(progress_, *device, request);
    }
    auto* messages = buffers.device != nullptr
                         ? &between_devices(transport, *buffers.device)
                         : dynamic_cast<MessageTransport*>(found.transport.get());
    if (messages != nullptr) {
        if (goes_in_lanes(job, buffers) && !messages->follows_queue())
            request.lanes = lanes_for(*choice.algorithm, job, schedule);
        plans_made_ += request.lanes.count - 1;
        return message_plan(progress_, *messages, request);
    }
    return plan_on_host(dynamic_cast<HostTransport&>(*found.transport), request, buffers.in_place);
}

// Ranks whose buffers are outside the heap copy them on every call, so this should be the
// exception. The heap needs room for the copies.
bool Planner::are_mapped(const CallBuffers& buffers) {
    enum class Has { no_room_in_heap, buffers_elsewhere, buffers_in_heap };
    const auto has = [&, heap = Heap::find()] {
        if (!heap) return Has::no_room_in_heap;
        const auto is_in_heap = [&](std::span<const std::byte> buffer) {
            return buffer.empty() || heap->place_of(buffer);
        };
        if (is_in_heap(buffers.input) && is_in_heap(buffers.output)) return Has::buffers_in_heap;
        const auto input = heap->allocate(buffers.input.size() + 1);
        const auto output = heap->allocate(buffers.output.size() + 1);
        return input && output ? Has::buffers_elsewhere : Has::no_room_in_heap;
    };
    const auto all = gather_all(world_, has());
    if (std::ranges::count(all, Has::no_room_in_heap) > 0 ||
        2 * std::ranges::count(all, Has::buffers_in_heap) <= std::ssize(all))
        return false;
    if (!heaps_are_reachable_) heaps_are_reachable_ = !heaps_refuse(world_);
    return *heaps_are_reachable_;
}

std::unique_ptr<Plan> Planner::plan_on_host(HostTransport& host, PlanRequest& request,
                                            bool in_place) {
    const HostTransport::Methods& methods = host.methods();
    const Call& call = request.call;
    const Bytes vector{total_bytes(call, world_.size())};
    const bool is_unregistered = !methods.takes_registered || !all_is_registered(world_, request);
    if (is_unregistered) request.registered = nullptr;
    const bool is_mapped = is_unregistered && methods.allows(UnregisteredMethod::mapped) &&
                           (methods.unregistered.size() == 1 || are_mapped(request.buffers));
    const Bytes most_of_ll =
        is_unregistered && !is_mapped ? tuning_.ll_up_to_unregistered : tuning_.ll_up_to;
    if (methods.ll && vector <= most_of_ll) return message_plan(progress_, *methods.ll, request);

    const Bytes all_buffers = bytes_of_all_buffers(call, world_.size(), in_place);
    request.stores =
        StoreChoice(all_buffers >= tuning_.stream_from ? Stores::streaming : Stores::cached,
                    tuning_.adapts_stores && all_buffers >= worth_adapting);
    if (!is_unregistered) return direct_plan(progress_, request);
    if (!is_mapped) return unregistered_plan(methods, request);
    request.unregistered = UnregisteredMethod::mapped;
    return direct_plan(progress_, request);
}

// If there are several methods, the plan measures which is the fastest.
std::unique_ptr<Plan> Planner::unregistered_plan(const HostTransport::Methods& methods,
                                                 const PlanRequest& request) {
    using enum UnregisteredMethod;
    const Bytes vector{total_bytes(request.call, world_.size())};
    const bool has_choice = methods.ll != nullptr;
    std::vector<std::unique_ptr<Plan>> plans;
    const auto add = [&](UnregisteredMethod method, int pieces) {
        PlanRequest of_plan = request;
        if (!plans.empty()) of_plan.number = plans_made_++;
        of_plan.unregistered = method;
        of_plan.schedule = pipelined(request.schedule, pieces);
        plans.push_back(direct_plan(progress_, of_plan));
    };
    const auto pieces_of = [&](Bytes piece) {
        return copy_in_pieces(request.call, world_.size(), request.schedule.chunks(), piece);
    };
    if (methods.allows(copy_in_copy_out)) {
        const int pieces = pieces_of(tuning_.stage_piece), more = pieces_of(small_piece);
        add(copy_in_copy_out, pieces);
        if (has_choice && more > pieces && pieces < many_pieces) add(copy_in_copy_out, more);
    }
    if (methods.allows(single_copy) && (!has_choice || vector >= worth_system_call)) {
        add(single_copy, 1);
    }
    if (has_choice && vector <= most_in_lines) {
        PlanRequest in_lines = request;
        in_lines.number = plans_made_++;
        plans.push_back(message_plan(progress_, *methods.ll, in_lines));
    }
    return plans.size() == 1 ? std::move(plans.front())
                             : tried_plan(progress_, request, std::move(plans));
}

}  // namespace tutti
