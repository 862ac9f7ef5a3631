// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "collectives/transport/messages/point_to_point_channel.hpp"
#include "results/launch.hpp"
#include "workloads/timing/clock_model.hpp"

namespace tutti {

/// The clock of the first host, as each rank can tell it from its own host's clock. The leaders of
/// the hosts (their first ranks) ask each other, in a binomial tree from the first host on, so that
/// many hosts take no longer than the logarithm of their number; who answers tells the first host's
/// time, as it knows it (HCA3, Hunold and Carpen-Amarie 2018). The other ranks sleep meanwhile.
/// On one host all clocks are one, and nothing is done.
class GlobalClock {
public:
    /// Synchronises: about 0.2 s. Collective. `hosts` are those of the world but for tests; as is
    /// another clock than that of now_ns().
    explicit GlobalClock(World& world) : GlobalClock(world, world.hosts(), now_ns) {}
    GlobalClock(World& world, const Placement& hosts, std::function<std::int64_t()> read);

    /// Synchronises once more where that was so long ago that drift would matter. Collective; costs
    /// a broadcast where it was not.
    void refresh();

    /// The first host's time in ns from this host's, and the inverse.
    std::int64_t from_local(std::int64_t local) const { return model_.other(local); }
    std::int64_t to_local(std::int64_t global) const { return model_.mine(global); }
    std::int64_t now() const { return from_local(read_()); }

    /// How far the clocks of all hosts were from what was foretold of them, when they were last
    /// looked at without having been told, undisturbed; the same on all ranks. ns.
    std::int64_t residual_ns() const { return residual_ns_; }

    /// The longest round trip between leaders, ns.
    std::int64_t round_trip_ns() const { return round_trip_ns_; }

    /// For the record: as of the last synchronisation.
    ClockSync record() const { return record_; }

private:
    void synchronise();
    void share(std::int64_t deviation_ns);
    struct Look {
        Sighting seen;
        std::int64_t reach_of_asked_ns;  // how far the asked one is from the first host at most
        bool is_disturbed;               // its reach is more than twice the best one's
    };
    Look look_at(Rank leader, std::int64_t longest_ns);
    std::int64_t deviation_of(const Sighting& seen) const;  // from what was foretold
    void answer(Rank leader);
    void check_against_first();

    World& world_;
    const Placement& hosts_;
    std::function<std::int64_t()> read_;
    std::unique_ptr<PointToPointChannel> channel_;  // none on one host
    int me_ = -1;                                   // number of the host that this rank leads
    int host_ = 0;                                  // number of this rank's host
    ClockModel model_;
    std::int64_t last_ns_ = 0;                     // when synchronised, by the own clock
    std::int64_t reach_ns_ = 0;                    // from the first host on, along the tree
    std::int64_t way_ns_ = 0;                      // of that, the last look's
    std::map<Rank, std::int64_t> least_reach_ns_;  // of all looks at that leader
    std::int64_t residual_ns_ = 0;
    std::int64_t round_trip_ns_ = 0;
    ClockSync record_;
};

}  // namespace tutti
