// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides what a call's plan is made of and how its transfers travel: the same for the planner,
// which makes the plan, and for the cost model, which predicts its time.
#include <map>
#include <string>
#include <vector>

#include "base/configuration.hpp"
#include "base/units.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/planner/routed_call.hpp"
#include "collectives/transport/transfer_method.hpp"
#include "topology/machine/host_tuning.hpp"

namespace tutti {

/// Default segment sizes of pipelined algorithms. Across hosts a segment is a little below 64 KiB,
/// because larger messages wait over TCP until the receiver's library polls (Open MPI's
/// btl_tcp_eager_limit), which takes longer than their transfer. This holds up to 15 MiB: larger
/// vectors are cut into 256 larger segments.
inline constexpr Bytes segment_on_host{128 * 1024};
inline constexpr Bytes segment_across_hosts{60 * 1024};
/// Across hosts with several links, if the library divides only larger messages among them.
inline constexpr Bytes segment_over_links{384 * 1024};
inline Bytes default_segment(const World& world) {
    return world.one_host() ? segment_on_host : segment_across_hosts;
}

/// The environment of a call, as far as schedules depend on it.
struct Environment {
    int ranks = 1;
    Placement hosts = {};  ///< also the nodes of hierarchical algorithms; empty: the world's
    /// For configurations that set none; see segment_of().
    Bytes default_segment = segment_on_host;
    int links = 1;                             ///< see World::links
    std::map<std::string, Order> orders = {};  ///< by their names in configurations
};

/// Returns that of a world's ranks.
inline Environment environment_of(const World& world) {
    return {.ranks = world.size(),
            .hosts = world.hosts(),
            .default_segment = default_segment(world),
            .links = world.links};
}

/// A configuration of tutti's own plans, with the environment of the ranks.
struct Choice {
    const Algorithm* algorithm = nullptr;  ///< the one that the configuration names
    Configuration configuration = {};
    Environment environment = {};
};

/// Whether the algorithm uses a knob: its row takes it, or no row does, because the planner uses it
/// for all algorithms. If not, the knob has its default.
bool makes_use(const Algorithm& algorithm, const Knob& knob);

/// Returns the number of segments into which a pipelined algorithm cuts a vector, or a channel's
/// share of it: at most 256.
int segments_for(Bytes vector, Bytes segment);

/// Returns the segment of a pipelined algorithm: the configured one, or the default, enlarged if
/// its chunks would be too small, or if the call is long and goes across hosts.
Bytes segment_of(const Choice& choice, const Call& call, int ranks, const Placement& hosts);

/// Returns the job for which a plan's schedule is built. `hosts` are the nodes if the choice's
/// environment has none. Throws Error if that lacks the configuration's order.
Job job_of(const Choice& choice, const Call& call, int ranks, const Placement& hosts);

inline constexpr int most_lanes = 8;

/// Returns the lanes of a job's schedule by messages: channels have their own lanes, up to `most`.
/// A route over `hybrid` has fewer for some calls of ranks that share cores.
Lanes lanes_for(const Algorithm& algorithm, const Job& job, const Schedule& schedule,
                int most = most_lanes);

/// Returns the size of all ranks' buffers: in place, input and output count once.
Bytes bytes_of_all_buffers(const RoutedCall& call);

/// One way for the transfers of a plan.
struct Way {
    TransferMethod method = TransferMethod::messages;
    /// The pieces of each chunk: pipelined (copy_in_copy_out), or divided between both ranks
    /// (single_copy).
    int pieces = 1;
    Lanes lanes = {};  ///< of messages
    /// Runs that a rank may begin while peers still read its data of an earlier one.
    int runs_ahead = 0;
    auto operator<=>(const Way&) const = default;
};

/// How the transfers of a call travel.
struct Route {
    Schedule schedule;  ///< of each way, before it is cut into pieces
    /// If there are several, a plan tries all of them, begins with the first one, and uses the
    /// fastest.
    std::vector<Way> ways = {};
    std::size_t expected = 0;  ///< the way that is expected to be the fastest
    BufferKind buffers = BufferKind::unregistered;
    StoreChoice stores = StoreChoice();  ///< before stores_of() adapts it to a way
};

/// Returns the schedule of one way of a route.
Schedule schedule_of(const Schedule& whole, const Way& way);

/// Returns which stores one way of a route uses. Single-copy that does not reduce always uses plain
/// stores; any other way uses `whole`.
StoreChoice stores_of(const StoreChoice& whole, Collective collective, const Way& way);

/// Returns the route of a call. `methods` are those of the choice's transport that the ranks can
/// use. Throws Error for an unknown transport or order, or an algorithm that cannot do it.
Route route_of(const Choice& choice, const RoutedCall& call, TransferMethods methods,
               const HostTuning& tuning);

}  // namespace tutti
