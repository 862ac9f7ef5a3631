// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/least_time.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace tutti {
namespace {

// The largest message that fits a cache line together with its flag.
constexpr double most_bytes_in_line = 56;

// The bytes of a call, for all ranks together.
struct Traffic {
    double reads = 0;
    double writes = 0;
    double footprint = 0;  // distinct bytes
};

// Bytes of the busiest rank if only their owner can access buffers.
struct Burden {
    double own = 0;       // read and written in the rank's buffers
    double shared = 0;    // into and out of shared memory, the mean of both
    double received = 0;  // copied by the kernel, from or to other ranks
};

class Bound {
public:
    Bound(const Limits& limits, const Call& call, int ranks, bool in_place, InputState input)
        : limits_(limits),
          call_(call),
          ranks_(ranks),
          in_place_(in_place),
          input_(input),
          block_(has_buffers(call.collective) ? static_cast<double>(bytes_of_block(call)) : 0) {}

    double by_direct_access() const {
        const Traffic traffic = all_traffic();
        const double workers = std::min(ranks_, limits_.cores);
        const double work =
            (traffic.reads + traffic.writes) / rate_of_pass(traffic.footprint / workers);
        const double signal = ranks_ > 1 ? signal_ns() : 0;
        // To or from a root: one signal, then all ranks may share the work.
        if (has_root(call_.collective)) return signal + work / workers + switches_ns();
        // Else the last rank to arrive works on its own until its signal reaches the others, and
        // all must learn when the others have finished.
        const double until_signal = std::min(work, signal);
        return signal + until_signal + (work - until_signal) / workers + switches_ns();
    }

    double by_shared_memory() const {
        const Burden burden = of_busiest();
        if (limits_.staged.best() == 0) return by_direct_access();
        // The shared pieces are in the cache, own buffers may not be; both proceed at the same
        // time.
        const double pieces = burden.shared / limits_.staged.best();
        const double own = burden.own / rate("copy", own_footprint(burden));
        return signal_ns() + switches_ns() + oversubscription() * std::max(pieces, own);
    }

    double by_single_copy() const {
        const Burden burden = of_busiest();
        const Bytes size{static_cast<std::int64_t>(burden.received)};
        return signal_ns() + switches_ns() +
               oversubscription() *
                   (limits_.single_copy_ns + burden.received / limits_.single_copy.at(size));
    }

    bool has_single_copy() const { return !limits_.single_copy.empty(); }
    bool fits_a_line() const { return block_ <= most_bytes_in_line; }
    double in_a_line() const { return signal_ns() + switches_ns(); }

private:
    // Time for a rank to signal that it has arrived or finished; an exchange is two signals at
    // once.
    double signal_ns() const { return std::min(limits_.one_way_ns(), limits_.exchange_ns()); }

    // Context switches: ranks that share a core run one after the other, and all but the last
    // yield.
    double switches_ns() const { return (divide_up(ranks_, limits_.cores) - 1) * limits_.yield_ns; }
    double oversubscription() const {
        if (has_root(call_.collective)) return 1;  // the root is the busiest, and there is one
        return std::max(1.0, static_cast<double>(ranks_) / limits_.cores);
    }

    const char* pass() const {
        switch (call_.collective) {
            case Collective::all_reduce:
                return in_place_ ? "add2_in_place" : "add2";
            case Collective::reduce:
            case Collective::reduce_scatter:
            case Collective::scan:
            case Collective::exscan:
                return in_place_ ? "add_in_place" : "add";
            default:
                return "copy";
        }
    }

    // Rewritten input is read slower from another core. Data that is only moved need not be read by
    // another rank: its owner can store it at its destination.
    double rate_of_pass(double working_set) const {
        const double untouched = rate(pass(), working_set);
        if (input_ == InputState::untouched || !reduces(call_.collective) || ranks_ == 1)
            return untouched;
        const bool to_all = call_.collective == Collective::all_reduce;
        const double rewritten = rate(to_all ? "add2_rewritten" : "add_rewritten", working_set);
        return rewritten > 0 ? std::min(untouched, rewritten) : untouched;
    }

    // Returns GB/s of one core; 0 if the pass was not measured. If as many cores take part as were
    // measured, this is the measured rate. Fewer cores reach at most the rate of one core each, and
    // at most the rate of all together.
    double rate(std::string_view pass, double working_set) const {
        const Bytes size{std::max<std::int64_t>(static_cast<std::int64_t>(working_set), 1)};
        const int active = std::min(ranks_, limits_.cores);
        double best = 0;
        for (const char* stores : {"cached", "streaming"}) {
            const Curve* all = limits_.curve(pass, stores, limits_.cores);
            const Curve* one = limits_.curve(pass, stores, 1);
            if (all == nullptr) continue;
            double each = all->rates.at(size) * limits_.cores / active;
            if (active < limits_.cores && one != nullptr)
                each = std::min(each, one->rates.at(size));
            best = std::max(best, each);
        }
        return best;
    }

    // Each input byte is read once and each result byte written once. In place, a rank's own block
    // of moved data is already at its destination.
    Traffic all_traffic() const {
        Traffic traffic;
        for (int rank = 0; rank < ranks_; ++rank) {
            traffic.reads += static_cast<double>(input_bytes(call_, ranks_, Rank{rank}));
            traffic.writes += static_cast<double>(output_bytes(call_, ranks_, Rank{rank}));
        }
        if (call_.collective == Collective::exscan) traffic.reads -= block_;  // the last rank's
        if (!in_place_) {
            traffic.footprint = traffic.reads + traffic.writes;
            return traffic;
        }
        if (reduces(call_.collective)) {
            traffic.footprint = std::max(traffic.reads, traffic.writes);
            return traffic;
        }
        const bool others_read_it =
            call_.collective == Collective::all_gather || call_.collective == Collective::broadcast;
        traffic.writes -= stays();
        if (!others_read_it) traffic.reads -= stays();
        traffic.footprint = call_.collective == Collective::all_to_all
                                ? traffic.reads
                                : traffic.reads + traffic.writes;
        return traffic;
    }

    double stays() const {
        const bool one_rank = has_root(call_.collective);
        return (one_rank ? 1 : ranks_) * block_;
    }

    Burden of_busiest() const {
        const double p = ranks_, others = p - 1, n = block_;
        const double in_place_block = in_place_ ? n : 0;  // the root's or each rank's own block
        switch (call_.collective) {
            case Collective::all_reduce:  // shares in, sums out; then the sums of others in
                return {2 * n, (n + 2 * n * others / p) / 2, 2 * n * others / p};
            case Collective::reduce_scatter:
                return {(p + 1) * n, others * n, others * n};
            case Collective::all_gather:
                return {(p + 1) * n - in_place_block, p * n / 2, others * n};
            case Collective::broadcast:
                return {2 * n - in_place_block, n / 2, shared_copies()};
            case Collective::reduce:
            case Collective::scan:
                return {2 * n, n / 2, shared_copies()};
            case Collective::exscan:  // the first rank has no result, the last one's input is
                                      // unused
                return {p > 2 ? 2 * n : n, n / 2, shared_copies()};
            case Collective::scatter:
            case Collective::gather:  // the root moves all of it
                return {(p + 1) * n - 2 * in_place_block, others * n / 2, shared_copies()};
            case Collective::all_to_all:
                return {2 * (p * n - in_place_block), others * n, others * n};
            default:  // no bound is known
                return {};
        }
    }

    // The data of all but one rank goes through the kernel, and each core can do a part of that.
    double shared_copies() const { return (ranks_ - 1) * block_ / std::min(ranks_, limits_.cores); }

    double own_footprint(const Burden& burden) const {
        const bool same_bytes =
            in_place_ && (reduces(call_.collective) || call_.collective == Collective::all_to_all);
        return same_bytes ? burden.own / 2 : burden.own;
    }

    const Limits& limits_;
    const Call& call_;
    int ranks_;
    bool in_place_;
    InputState input_;
    double block_;
};

}  // namespace

LeastCrossing least_crossing(const Call& call, const Placement& hosts) {
    int ranks = 0;
    for (const auto& host : hosts.nodes()) ranks += int_size(host);
    LeastCrossing crossing =
        least_crossing(CollectiveSpec{call.collective, ranks, call.root}, hosts.nodes());
    const double bytes = static_cast<double>(call.count) * static_cast<double>(size_of(call.type));
    for (auto* direction : {&crossing.out, &crossing.in})
        for (double& one : *direction) one *= bytes;
    crossing.total *= bytes;
    return crossing;
}

double least_time_between(const HostNetwork& network, const Call& call, const Placement& hosts) {
    const LeastCrossing crossing = least_crossing(call, hosts);
    if (crossing.total == 0) return 0;
    double time = 0, all_out = 0, all_in = 0, all_burst = 0, latency = 0;
    bool knows_out = true, knows_in = true;  // for all hosts; otherwise the total could be larger
    const auto at_least = [&](double bytes, double burst, double gbps) {
        if (gbps > 0) time = std::max(time, (bytes - burst) / gbps);
    };
    for (std::size_t i = 0; i < crossing.out.size(); ++i) {
        const int host = static_cast<int>(i);
        const double out = network.out_gbps(host), in = network.in_gbps(host);
        const auto burst = static_cast<double>(network.burst(host).count);
        at_least(crossing.out[i], burst, out);
        at_least(crossing.in[i], burst, in);
        all_burst += burst;
        all_out += out;
        all_in += in;
        knows_out = knows_out && out > 0;
        knows_in = knows_in && in > 0;
        latency = std::max(latency, network.latency_ns(host));
    }
    if (knows_out) at_least(crossing.total, all_burst, all_out);
    if (knows_in) at_least(crossing.total, all_burst, all_in);
    return latency + time;
}

double least_time(const Limits& limits, const Call& call, int ranks, bool in_place, Reach reach,
                  InputState input) {
    if (call.count == 0 || (ranks == 1 && in_place)) return 0;
    const Bound bound(limits, call, ranks, in_place, input);
    if (ranks == 1) return bound.by_direct_access();
    if (bound.fits_a_line()) return bound.in_a_line();
    double least = bound.by_shared_memory();
    if (bound.has_single_copy()) least = std::min(least, bound.by_single_copy());
    if (reach == Reach::registered) least = std::min(least, bound.by_direct_access());
    return least;
}

double least_time(const Limits& limits, const Call& call, const Placement& hosts, bool in_place,
                  Reach reach, InputState input) {
    std::size_t most_ranks = 0;
    for (const auto& host : hosts.nodes()) most_ranks = std::max(most_ranks, host.size());
    Call within = call;
    const auto ranks = static_cast<int>(most_ranks);
    if (hosts.nodes().size() == 1) return least_time(limits, call, ranks, in_place, reach, input);
    if (!limits.network || limits.network->hosts.size() != hosts.nodes().size()) return 0;
    within.root = Rank{0};
    return std::max(least_time(limits, within, ranks, in_place, reach, input),
                    least_time_between(*limits.network, call, hosts));
}

double least_time(const Limits& limits, const Key& key, const Placement& hosts) {
    if (!key.blocks.empty()) return 0;  // the bounds are those of equal blocks
    const Call call{key.coll, key.dtype, Op::sum, key.root.value_or(Rank{0}), key.count};
    const bool is_reached = key.buf == "registered" || key.buf == "mapped";
    const Reach reach = is_reached ? Reach::registered : Reach::unregistered;
    const InputState input =
        key.input == "rewritten" ? InputState::rewritten : InputState::untouched;
    return least_time(limits, call, hosts, key.inplace, reach, input);
}

}  // namespace tutti
