// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "collectives/baselines/baselines.hpp"
#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/planner/route.hpp"
#include "collectives/transport/table/transports.hpp"
#include "collectives/world/shared_plan_memory.hpp"

namespace tutti {

/// The properties of a rank's buffers that decide how a plan reaches them.
struct BufferTraits {
    /// In a heap that peers may map, or outside of it.
    enum class Heap : std::uint8_t { has_no_room, has_room, has_buffers };
    bool are_registered = false;  ///< in registered memory, or empty
    Heap heap = Heap::has_no_room;
};

/// The common properties of all ranks' buffers.
struct BuffersOfAll {
    bool are_registered = false;
    /// Whether most ranks have them in their heaps, and the others room for copies.
    bool are_in_heaps = false;

    explicit BuffersOfAll(std::span<const BufferTraits> of_ranks);
};

/// Makes a rank's plans: holds its world, the transports (opened once, on first use) and the
/// running plans. Making plans is collective: all ranks make the same ones in the same order.
class Planner {
public:
    explicit Planner(World& world, std::optional<Fault> fault = {})
        : world_(world), progress_(world), fault_(fault) {}

    World& world() { return world_; }
    Progress& progress() { return progress_; }

    /// Sets the tuning of this host for plans made from now on. It must be the same on all ranks.
    void tune(const HostTuning& tuning) { tuning_ = tuning; }
    const HostTuning& tuning() const { return tuning_; }

    /// Sets the number of runs per start of each device plan made from now on (on CUDA as one
    /// graph). In place, each run works on the result of the previous one.
    void repeat_on_devices(unsigned runs) { runs_on_devices_ = runs; }
    unsigned runs_on_devices() const { return runs_on_devices_; }
    /// Returns the number of runs per start over this transport. The first call is collective.
    unsigned runs_of_call(std::string_view transport) {
        return on_device(transport) != nullptr ? runs_on_devices_ : 1;
    }

    /// Returns why the transport cannot be used here for such buffers (nullopt: for any), which are
    /// part of `registered` if given; nothing if it can. The first call is collective.
    std::optional<std::string> refuses(std::string_view transport,
                                       std::optional<BufferKind> buffers = BufferKind::unregistered,
                                       const ReachableMemory* registered = nullptr);
    /// Describes what the transport found and uses on this rank; may be empty. The first call is
    /// collective.
    std::string details(std::string_view transport);

    /// Whether several ranks share a device of the transport. The first call is collective.
    bool is_virtual(std::string_view transport);
    /// Returns the traits of this rank's buffers, of which the ranks must know all: a plan asks for
    /// them, unless it is given the answer.
    static BufferTraits traits_of(const CallBuffers& buffers, const ReachableMemory* registered);
    /// Whether plans over shm use such buffers in place, in heaps that peers map
    /// (docs/background/shared_memory.md). Collective at the first such buffers.
    bool are_mapped(const BuffersOfAll& buffers);
    /// Allocates `bytes` of memory that plans over the transport use as registered. Throws Error if
    /// the transport cannot be used or memory is insufficient. Collective.
    std::unique_ptr<ReachableMemory> registered_memory(std::string_view transport,
                                                       std::size_t bytes);

    /// Allocates `bytes` of host memory that the transport's device copies from and to by itself.
    /// Throws Error if the transport cannot be used, has no devices, or memory is insufficient.
    /// Collective.
    std::shared_ptr<std::byte> pinned_memory(std::string_view transport, std::size_t bytes);

    /// Makes a plan and binds the call to it. It also serves other calls, with blocks of up to
    /// `most_bytes` (0: those of this call), except on devices. `known`: what the ranks know of
    /// all buffers, if they do. Throws Error on all ranks if algorithm, transport and call are
    /// incompatible, the environment lacks the configuration's order, or a rank lacks memory.
    /// Collective.
    std::unique_ptr<Plan> plan(const Choice& choice, const Call& call, const CallBuffers& buffers,
                               const ReachableMemory* registered = nullptr,
                               std::int64_t most_bytes = 0,
                               const std::optional<BuffersOfAll>& known = {});

    /// Returns the route by which plan() makes the plan of this call. Throws Error as plan() does.
    /// Collective.
    Route route(const Choice& choice, const Call& call, const CallBuffers& buffers,
                const ReachableMemory* registered = nullptr,
                const std::optional<BuffersOfAll>& known = {});

private:
    struct Opened {
        std::optional<std::string> refusal;
        OpenTransport transport = {};
        TransferMethods methods = {};  // that these ranks can use
        // Transports for messages staged through the host, by device.
        std::map<const MemoryDevice*, std::unique_ptr<MessageTransport>> staged = {};
    };
    Opened& opened(std::string_view name);
    MessageTransport& between_devices(std::string_view name, MemoryDevice& device);
    const DevicePlaces* on_device(std::string_view name);
    BufferKind kind_of(const CallBuffers& buffers, TransferMethods methods,
                       const ReachableMemory* registered, const std::optional<BuffersOfAll>& known);
    std::unique_ptr<Plan> plan_by(const Way& way, int number, std::string_view transport,
                                  PlanRequest request, SharedPlanMemory& memory);

    World& world_;
    Progress progress_;
    std::optional<Fault> fault_;
    HostTuning tuning_;
    std::map<std::string, Opened, std::less<>> opened_;
    std::optional<bool> heaps_are_reachable_;  // determined on first use
    int plans_made_ = 0;
    unsigned runs_on_devices_ = 1;
};

}  // namespace tutti
