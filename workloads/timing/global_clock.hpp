// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/transport/messages/point_to_point_channel.hpp"
#include "results/records/launch.hpp"
#include "workloads/timing/clock_model.hpp"

namespace tutti {

/// The clock of the first host, computed from the clock of a rank's own host. The leaders of the
/// hosts (their first ranks) ping each other along a binomial tree from the first host, in
/// log2(hosts) rounds; each answers with its prediction of the first host's time (HCA3, Hunold and
/// Carpen-Amarie 2018). The other ranks sleep meanwhile. On one host there is one clock, and
/// nothing is done.
class GlobalClock {
public:
    /// Synchronises in about 0.2 s. Collective. Only tests pass `hosts` other than the world's, or
    /// a clock other than now_ns().
    explicit GlobalClock(World& world) : GlobalClock(world, world.hosts(), now_ns) {}
    GlobalClock(World& world, const Placement& hosts, std::function<std::int64_t()> read);

    /// Synchronises again if drift matters since the last time. Collective; otherwise costs a
    /// broadcast.
    void refresh();

    /// Convert this host's time in ns to the first host's, and back.
    std::int64_t from_local(std::int64_t local) const { return model_.other(local); }
    std::int64_t to_local(std::int64_t global) const { return model_.mine(global); }
    std::int64_t now() const { return from_local(read_()); }

    /// Returns the largest difference in ns between a host's predicted clock and its next
    /// undisturbed estimate. The same on all ranks.
    std::int64_t residual_ns() const { return residual_ns_; }

    /// Returns the longest round trip between leaders, in ns.
    std::int64_t round_trip_ns() const { return round_trip_ns_; }

    /// Returns the last synchronisation for the record.
    ClockSync record() const { return record_; }

private:
    Rank leader_of(int host) const { return at(hosts_.nodes(), host).front(); }
    void synchronise();
    void share(std::int64_t deviation_ns);
    struct Answer {
        ClockOffset estimate;
        std::int64_t bound_of_leader_ns;  // bound of the error of the first host's time there
        bool is_disturbed;                // its bound is more than twice the best one's
    };
    Answer ping(Rank leader, std::int64_t longest_ns);
    std::int64_t deviation_of(const ClockOffset& estimate) const;  // from the prediction
    void answer(Rank leader);
    void check_against_first();

    World& world_;
    const Placement& hosts_;
    std::function<std::int64_t()> read_;
    std::unique_ptr<PointToPointChannel> channel_;  // null on one host
    // Number of the host that this rank leads, or -1
    int leads_ = -1;
    int host_ = 0;  // number of this rank's host
    ClockModel model_;
    std::int64_t last_ns_ = 0;                     // when synchronised, by the own clock
    std::int64_t bound_ns_ = 0;                    // bound of the error, summed along the tree
    std::int64_t bound_of_hop_ns_ = 0;             // share of this host's own hop
    std::map<Rank, std::int64_t> least_bound_ns_;  // over all estimates by that leader
    std::int64_t residual_ns_ = 0;
    std::int64_t round_trip_ns_ = 0;
    ClockSync record_;
};

}  // namespace tutti
