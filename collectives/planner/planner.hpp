// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/configuration.hpp"
#include "base/units.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/transport/gpu/device_transport.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/transport/table/transports.hpp"
#include "collectives/world/shared_memory.hpp"
#include "topology/machine/host_tuning.hpp"

namespace tutti {

/// How finely pipelined algorithms cut where nothing is asked for. Across hosts a segment stays a
/// little below 64 KiB, as larger messages wait over TCP until the receiver's library has looked
/// (Open MPI's btl_tcp_eager_limit), which costs more than the link takes to carry them. That holds
/// up to 15 MiB: larger vectors are cut into 256 segments, which then are larger.
inline constexpr Bytes segment_on_host{128 * 1024};
inline constexpr Bytes segment_across_hosts{60 * 1024};
inline Bytes default_segment(const World& world) {
    return world.one_host() ? segment_on_host : segment_across_hosts;
}

/// What a call is done on, as far as it decides schedules.
struct Environment {
    int ranks = 1;
    Placement hosts = {};  ///< and nodes of hierarchical algorithms; empty: the world's
    Bytes default_segment = segment_on_host;   ///< of configurations that name none
    std::map<std::string, Order> orders = {};  ///< by the names that configurations call them by
};

/// A configuration of ours for the ranks at hand.
struct Choice {
    const Algorithm* algorithm = nullptr;  ///< the one that the configuration names
    Configuration configuration = {};
    Environment environment = {};
};

/// Whether the algorithm makes use of a knob. Where it does not, the knob has its default.
bool makes_use(const Algorithm& algorithm, const Knob& knob);

/// What a rank makes plans with: its world, the transports (opened once, when first asked for) and
/// the plans under way. Making plans is collective: all ranks make the same ones in the same order.
class Planner {
public:
    explicit Planner(World& world, std::optional<Fault> fault = {})
        : world_(world), progress_(world), fault_(fault) {}

    World& world() { return world_; }
    Progress& progress() { return progress_; }

    /// The tuning of this host for plans made from now on. The same on all ranks.
    void tune(const HostTuning& tuning) { tuning_ = tuning; }
    const HostTuning& tuning() const { return tuning_; }

    /// Each start of a device plan made from now on does `runs` runs (on CUDA as one graph). In
    /// place each run works on what the one before left.
    void repeat_on_devices(unsigned runs) { runs_on_devices_ = runs; }
    unsigned runs_on_devices() const { return runs_on_devices_; }
    /// How many runs one start does over this transport. Collective when first asked.
    unsigned runs_of_call(std::string_view transport) {
        return on_device(transport) != nullptr ? runs_on_devices_ : 1;
    }

    /// Why the transport cannot be used here for such buffers, which are part of `registered` if
    /// that is given; nothing if it can. Collective when first asked.
    std::optional<std::string> refuses(std::string_view transport, MemoryOf memory = MemoryOf::host,
                                       const ReachableMemory* registered = nullptr);
    /// What the transport found on this rank and takes, in words; empty if there is nothing to say.
    /// Collective when first asked.
    std::string details(std::string_view transport);

    /// Whether several ranks share a device of the transport. Collective when first asked.
    bool is_virtual(std::string_view transport);
    /// Whether most ranks have such buffers in their heaps (docs/background/heap.md), and all have
    /// a heap that the others reach: then plans over shm work there. Collective.
    bool are_mapped(const CallBuffers& buffers);
    /// Memory that plans over the transport take as registered, so many bytes of this rank. Throws
    /// Error if it cannot be used or there is not so much. Collective.
    std::unique_ptr<ReachableMemory> registered_memory(std::string_view transport,
                                                       std::size_t bytes);

    /// So many bytes of this host that the transport's device copies from and to by itself. Throws
    /// Error if it cannot be used, has no devices, or there is not so much. Collective.
    std::shared_ptr<std::byte> pinned_memory(std::string_view transport, std::size_t bytes);

    /// Throws Error if algorithm, transport and call do not go together, or the environment lacks
    /// the configuration's order. Collective.
    std::unique_ptr<Plan> plan(const Choice& choice, const Call& call, const CallBuffers& buffers,
                               const ReachableMemory* registered = nullptr);

private:
    struct Opened {
        std::optional<std::string> refusal;
        std::unique_ptr<Transport> transport;
        // Of messages that go through the host, by the device.
        std::map<const MemoryDevice*, std::unique_ptr<MessageTransport>> staged = {};
    };
    Opened& opened(std::string_view name);
    MessageTransport& between_devices(std::string_view name, MemoryDevice& device);
    const DeviceTransport* on_device(std::string_view name);
    std::unique_ptr<Plan> plan_on_host(HostTransport& host, PlanRequest& request, bool in_place);
    std::unique_ptr<Plan> unregistered_plan(const HostTransport::Methods& methods,
                                            const PlanRequest& request);

    World& world_;
    Progress progress_;
    std::optional<Fault> fault_;
    HostTuning tuning_;
    std::map<std::string, Opened, std::less<>> opened_;
    std::optional<bool> heaps_are_reachable_;  // once it matters
    int plans_made_ = 0;
    unsigned runs_on_devices_ = 1;
};

/// How many segments a pipelined algorithm cuts a vector, or a channel's share of it, into: at most
/// 256.
int segments_for(Bytes vector, Bytes segment);

/// What a plan's schedule is built for. `hosts` are nodes where the choice's environment has none.
/// Throws Error where that lacks the configuration's order.
Job job_of(const Choice& choice, const Call& call, int ranks, const Placement& hosts);

/// The lanes of a job's schedule by message: channels go through lanes of their own, up to eight.
Lanes lanes_for(const Algorithm& algorithm, const Job& job, const Schedule& schedule);

}  // namespace tutti
