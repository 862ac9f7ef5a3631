// SPDX-License-Identifier: Apache-2.0
#include "results/records/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/output.hpp"
#include "base/source.hpp"
#include "results/records/reader.hpp"

namespace tutti {

double Rates::at(Bytes size) const {
    if (empty()) return 0;
    const auto above = std::ranges::lower_bound(bytes, size);
    if (above == bytes.begin()) return gbps.front();
    if (above == bytes.end()) return gbps.back();
    const auto i = as_size(above - bytes.begin());
    const auto place = [](Bytes b) { return std::log(static_cast<double>(b.count)); };
    const double share =
        (place(size) - place(bytes[i - 1])) / (place(bytes[i]) - place(bytes[i - 1]));
    return gbps[i - 1] + share * (gbps[i] - gbps[i - 1]);
}

double Rates::best() const { return empty() ? 0 : *std::ranges::max_element(gbps); }

const Curve* Limits::curve(std::string_view pass, std::string_view stores, int cores_active) const {
    for (const Curve& each : curves)
        if (each.pass == pass && each.stores == stores && each.cores == cores_active) return &each;
    return nullptr;
}

namespace {

double least_of(const Limits& limits, double SignalLatency::*ns) {
    double least = 0;
    for (const SignalLatency& pair : limits.signal_latencies)
        if (least == 0 || pair.*ns < least) least = pair.*ns;
    return least;
}

// The most of all ranks at once, and of each link: that of `from_a` where the host is its `a`.
double most_of(const HostNetwork& network, int host, double HostLink::*from_a,
               double HostLink::*from_b) {
    double most = network.all_gbps;
    for (const HostLink& link : network.links) {
        if (link.a == host) most = std::max(most, link.*from_a);
        if (link.b == host) most = std::max(most, link.*from_b);
    }
    return most;
}

constexpr double clearly = 0.05;  // more than the noise of a least time

void keep_best(Rates& now, const Rates& before) {
    if (now.bytes != before.bytes) return;
    for (std::size_t i = 0; i < now.gbps.size(); ++i)
        now.gbps[i] = std::max(now.gbps[i], before.gbps[i]);
}

void keep_best(std::vector<StreamTrial>& now, const std::vector<StreamTrial>& before) {
    if (now.size() != before.size()) return;
    for (std::size_t i = 0; i < now.size(); ++i) {
        keep_least(now[i].cached_ns, before[i].cached_ns);
        keep_least(now[i].streaming_ns, before[i].streaming_ns);
    }
}

void keep_best(HostNetwork& now, const HostNetwork& before) {
    if (now.hosts != before.hosts || now.links.size() != before.links.size()) return;
    for (std::size_t i = 0; i < now.links.size(); ++i) {
        HostLink& link = now.links[i];
        const HostLink& also = before.links[i];
        keep_least(link.latency_ns, also.latency_ns);
        for (const auto gbps : {&HostLink::gbps, &HostLink::back_gbps, &HostLink::both_gbps})
            link.*gbps = std::max(link.*gbps, also.*gbps);
        link.burst = std::max(link.burst, also.burst);
    }
    now.all_gbps = std::max(now.all_gbps, before.all_gbps);
}

bool are_of_one_machine(const Limits& one, const Limits& other) {
    return one.topo_sha256 == other.topo_sha256 && one.kernels == other.kernels;
}

std::optional<std::filesystem::path> folder_in(const char* variable) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') return std::nullopt;
    return folder;
}

// Checks what Rates::at relies on.
bool make_sense(const Rates& rates) {
    const auto positive = [](double number) { return number > 0; };
    return rates.bytes.size() == rates.gbps.size() && std::ranges::is_sorted(rates.bytes) &&
           std::ranges::all_of(rates.gbps, positive) &&
           (rates.empty() || rates.bytes.front() > Bytes{0});
}

// Checks that the curves for lower bounds are there, of one core and of all.
bool is_complete(const Limits& limits) {
    for (const char* pass : {"copy", "add", "add2", "add_in_place", "add2_in_place"})
        for (const int cores : {1, limits.cores})
            if (limits.curve(pass, "cached", cores) == nullptr) return false;
    return true;
}

// Links are between its hosts.
bool make_sense(const HostNetwork& network) {
    const auto is_host = [&](int host) {
        return host >= 0 && std::cmp_less(host, network.hosts.size());
    };
    return !network.hosts.empty() && std::ranges::all_of(network.links, [&](const HostLink& link) {
        return is_host(link.a) && is_host(link.b);
    });
}

bool make_sense(const Limits& limits) {
    return limits.cores >= 1 && limits.cores <= most_cpus && is_complete(limits) &&
           make_sense(limits.staged) && make_sense(limits.single_copy) &&
           (!limits.network || make_sense(*limits.network)) &&
           std::ranges::all_of(limits.curves, [](const Curve& curve) {
               return !curve.rates.empty() && make_sense(curve.rates);
           });
}

}  // namespace

double Limits::one_way_ns() const { return least_of(*this, &SignalLatency::one_way_ns); }
double Limits::exchange_ns() const { return least_of(*this, &SignalLatency::exchange_ns); }

double HostNetwork::out_gbps(int host) const {
    return most_of(*this, host, &HostLink::gbps, &HostLink::back_gbps);
}
double HostNetwork::in_gbps(int host) const {
    return most_of(*this, host, &HostLink::back_gbps, &HostLink::gbps);
}

double HostNetwork::latency_ns(int host) const {
    double least = 0;
    for (const HostLink& link : links)
        if (link.a == host || link.b == host) keep_least(least, link.latency_ns);
    return least;
}

Bytes HostNetwork::burst(int host) const {
    Bytes most;
    for (const HostLink& link : links)
        if (link.a == host || link.b == host) most = std::max(most, link.burst);
    return most;
}

bool know_rewritten_input(const Limits& limits) {
    return limits.cores == 1 || (limits.curve("add_rewritten", "cached", limits.cores) != nullptr &&
                                 limits.curve("add2_rewritten", "cached", limits.cores) != nullptr);
}

bool are_for(const Limits& limits, std::string_view topo_sha256, int cores) {
    return limits.topo_sha256 == topo_sha256 && limits.cores >= cores &&
           know_rewritten_input(limits);
}

Bytes stream_from(std::span<const StreamTrial> trials) {
    Bytes from{std::numeric_limits<std::int64_t>::max()};
    for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
        if (trial->streaming_ns > trial->cached_ns * (1 + clearly)) break;
        if (trial->streaming_ns < trial->cached_ns * (1 - clearly)) from = trial->bytes;
    }
    return from;
}

Limits best_of(const Limits& now, const Limits& before) {
    const bool has_all_cores = now.cores >= before.cores;
    if (!are_of_one_machine(now, before) || (!has_all_cores && !know_rewritten_input(before)))
        return now;
    Limits best = has_all_cores ? now : before;
    const Limits& other = has_all_cores ? before : now;
    for (Curve& curve : best.curves)
        if (const Curve* also = other.curve(curve.pass, curve.stores, curve.cores))
            keep_best(curve.rates, also->rates);
    for (SignalLatency& pair : best.signal_latencies)
        for (const SignalLatency& also : other.signal_latencies)
            if (also.a == pair.a && also.b == pair.b) {
                keep_least(pair.one_way_ns, also.one_way_ns);
                keep_least(pair.exchange_ns, also.exchange_ns);
            }
    if (now.cores == before.cores) {
        keep_best(best.staged, other.staged);
        keep_best(best.stream_trials, other.stream_trials);
        best.stream_from = stream_from(best.stream_trials);
    }
    keep_best(best.single_copy, other.single_copy);
    for (const auto ns : {&Limits::clock_ns, &Limits::yield_ns, &Limits::wake_ns,
                          &Limits::wake_same_core_ns, &Limits::single_copy_ns})
        keep_least(best.*ns, other.*ns);
    best.network = now.network;
    if (best.network && before.network) keep_best(*best.network, *before.network);
    best.taken = std::min(now.taken, before.taken);
    return best;
}

std::optional<Limits> limits_to_keep(const Limits& now, const std::optional<Limits>& before) {
    const bool is_base = before && are_of_one_machine(now, *before) && before->cores >= now.cores;
    if (is_disturbed(now.taken) && !is_base) return std::nullopt;
    return before ? best_of(now, *before) : now;
}

std::optional<std::filesystem::path> limits_path(const std::string& fingerprint) {
    auto cache = folder_in("XDG_CACHE_HOME");
    if (!cache) cache = folder_in("HOME");
    if (!cache) return std::nullopt;
    if (!folder_in("XDG_CACHE_HOME")) *cache /= ".cache";
    return *cache / "tutti" / ("limits-" + fingerprint + ".json");
}

Limits read_limits(const std::filesystem::path& path) {
    const Results results = read_results(path);
    if (results.limits.empty())
        throw Error(fmt::format("'{}' holds no limits; use a file of tutti limits --json FILE",
                                path.string()));
    if (!make_sense(results.limits.back()))
        throw Error(fmt::format(
            "'{}' holds impossible limits; use a file of tutti limits --json FILE", path.string()));
    return results.limits.back();
}

void keep_limits(const Limits& limits, const std::filesystem::path& path) {
    replace_file(path, to_json_line(limits) + '\n', "the limits");
}

}  // namespace tutti
