// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/rounding.hpp"
#include "kernels/sets.hpp"
#include "results/records/identity.hpp"
#include "results/records/record.hpp"
#include "topology/detect/detect.hpp"
#include "topology/machine/fingerprint.hpp"
#include "workloads/limits/limit_curves.hpp"
#include "workloads/limits/network_limits.hpp"
#include "workloads/timing/core_watch.hpp"

namespace tutti {
namespace {

constexpr int rounds_between_long_ones = 8;
constexpr int least_rounds = 3;
constexpr std::int64_t largest_working_set = 256 << 20;  // for a core
constexpr std::int64_t largest_trial = 128 << 20;        // for all cores together

std::int64_t power_of_two_up_to(double most) {
    std::int64_t power = 1;
    while (static_cast<double>(2 * power) <= most) power *= 2;
    return power;
}

// Large passes take most of the time, and memory may be scarce. Sizes above the measured ones are
// assumed to be as fast as the largest.
std::int64_t largest_pass(double seconds, int members) {
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const std::int64_t most =
        power_of_two_up_to(std::min(seconds * (64 << 20), memory / 16 / members));
    return std::clamp<std::int64_t>(most, 1 << 20, largest_working_set);
}

std::string_view fastest_kernels() {
    for (const KernelSet& set : allowed_sets())
        if (set.runs_here()) return set.name;
    return "";
}

// Digits beyond these are noise, and make long lines.
void round_off(Limits& limits) {
    const auto shorten = [](double& ns) { ns = to_tenths(ns); };
    const auto to_hundredths = [](Rates& rates) {
        for (double& rate : rates.gbps) rate = std::max(std::round(rate * 100) / 100, 0.01);
    };
    for (SignalLatency& pair : limits.signal_latencies) {
        shorten(pair.one_way_ns);
        shorten(pair.exchange_ns);
    }
    for (StreamTrial& trial : limits.stream_trials) {
        shorten(trial.cached_ns);
        shorten(trial.streaming_ns);
    }
    for (double* ns : {&limits.clock_ns, &limits.yield_ns, &limits.wake_ns,
                       &limits.wake_same_core_ns, &limits.single_copy_ns})
        shorten(*ns);
    for (Curve& curve : limits.curves) to_hundredths(curve.rates);
    to_hundredths(limits.staged);
    to_hundredths(limits.single_copy);
}

Limits measure_as_member(RankTeam& team, std::int64_t most, std::int64_t end_ns) {
    CurveSampler curves(team, most);
    SignalLatencySampler signals(team);
    StreamSampler streaming(team, std::min(largest_trial, most * team.size()));
    for (int round = 0;; ++round) {
        const CurveRound length =
            round % rounds_between_long_ones == 0 ? CurveRound::long_one : CurveRound::short_one;
        team.on_first([&] {
            curves.sample_one_core(length);
            signals.sample_one_core();
        });
        curves.sample_all(length);
        signals.sample_all(length);
        streaming.sample_all(length);
        const bool is_over = round + 1 >= least_rounds && now_ns() > end_ns;
        if (team.from_first(is_over ? 1 : 0) > 0) break;
    }
    Limits limits;
    limits.t = utc_now();
    limits.topo_sha256 = fingerprint(detect_host());
    limits.kernels = fastest_kernels();
    limits.cores = team.size();
    limits.curves = curves.curves();
    signals.write_to(limits);
    limits.stream_trials = streaming.trials();
    limits.stream_from = stream_from(limits.stream_trials);
    round_off(limits);
    return limits;
}

}  // namespace

Limits measure_limits(World& world, double seconds) {
    const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    const int members = RankTeam::members_of(world);
    const std::int64_t most = from_rank0(world, largest_pass(seconds, members));
    RankTeam team(world, members, CurveSampler::bytes_for(most));
    CoreWatch watch(world);
    Limits limits;
    if (team.is_member()) {
        limits = measure_as_member(team, most, end_ns);
        team.end();
    } else {
        team.wait_for_end();
    }
    limits.taken = std::round(100 * watch.share_of_others()) / 100;
    const std::string text =
        gather_all_texts(world, world.is_first() ? to_json_line(limits) : "")[0];
    return std::get<Limits>(parse_json_line(text));
}

Limits limits_of_hosts(World& world, const std::function<Limits(World&)>& of_first_host,
                       double seconds_on_host, double seconds_on_network) {
    const auto host = world.of_host();
    if (!host) return of_first_host(world);
    std::string found, refusal;
    const auto& first = world.hosts().nodes().front();
    if (std::ranges::find(first, world.rank()) != first.end()) try {
            found = to_json_line(of_first_host(*host));
        } catch (const Error& error) {
            if (error.code() != Exit::usage) throw;  // a rank is lost or late
            refusal = error.what();
        }
    world.sleeping_barrier(2 * seconds_on_host + 60);
    found = gather_all_texts(world, found)[0];
    if (found.empty()) throw Error(gather_all_texts(world, refusal)[0]);
    Limits limits = std::get<Limits>(parse_json_line(found));
    limits.network = measure_network(world, world.hosts(), seconds_on_network);
    return limits;
}

}  // namespace tutti
