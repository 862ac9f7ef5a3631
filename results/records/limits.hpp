// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "base/units.hpp"

namespace tutti {

/// GB/s (10^9) over sizes, ascending. Between two sizes the logarithm of the size counts; beyond
/// the first and the last it stays as it is there.
struct Rates {
    std::vector<Bytes> bytes;
    std::vector<double> gbps;

    bool empty() const { return bytes.empty(); }
    double at(Bytes size) const;
    double best() const;

    bool operator==(const Rates&) const = default;
};

/// How fast cores pass over memory. `pass` is "copy" (one source, one result), "add" (two sources),
/// "add2" (two sources, the result stored twice), "add_in_place" or "add2_in_place" (results over
/// the sources), "add_rewritten" or "add2_rewritten" (one source just written by another core, the
/// other by the core itself; of all cores at once, where there are several); `stores` is "cached"
/// or "streaming".
struct Curve {
    std::string pass;
    std::string stores;
    int cores = 1;  // active at the same time
    Rates rates;    // per core, bytes read and written, over its working set

    bool operator==(const Curve&) const = default;
};

/// The time of a signal between two ranks through a cache line.
struct SignalLatency {
    Rank a, b;
    double one_way_ns = 0;
    double exchange_ns = 0;  // in both directions at once

    bool operator==(const SignalLatency&) const = default;
};

/// An exchange of all ranks whose inputs and outputs have `bytes` together, by either kind of
/// store.
struct StreamTrial {
    Bytes bytes;
    double cached_ns = 0;
    double streaming_ns = 0;

    bool operator==(const StreamTrial&) const = default;
};

/// Measured messages between two hosts, over the transport of plain messages. The time of n bytes
/// is modelled as latency + (n - burst) / bandwidth, but no less than the latency.
struct HostLink {
    int a = 0, b = 0;       // numbers of hosts
    double latency_ns = 0;  // one direction: half of the least round trip
    double gbps = 0;        // GB/s from a to b, of one message at a time
    double back_gbps = 0;   // from b to a
    double both_gbps = 0;   // in each direction, where both send at once
    Bytes burst;          // that pass at once where something limits the rate, in either direction
    double residual = 0;  // median relative distance of large messages from the line

    bool operator==(const HostLink&) const = default;
};

/// The network between the hosts of a launch.
struct HostNetwork {
    std::vector<std::string> hosts;  // their names, in the launch's order
    std::vector<HostLink> links;
    double all_gbps = 0;  // out of each host and into it, where all ranks of all hosts send at once

    /// Return the highest rate that left or entered a host, by one link or by all ranks. GB/s.
    double out_gbps(int host) const;
    double in_gbps(int host) const;
    /// Returns the latency to the nearest other host, ns.
    double latency_ns(int host) const;
    /// Returns the largest burst of its links.
    Bytes burst(int host) const;

    bool operator==(const HostNetwork&) const = default;
};

/// The best measured performance of one host, and of the network between several. Values that
/// could not be measured are 0 or empty.
struct Limits {
    std::string session;
    int launch = 1;
    std::string t;                                // RFC 3339, UTC
    std::string topo_sha256;                      // the host's fingerprint
    std::string kernels;                          // the fastest set that was allowed: avx512, ...
    int cores = 1;                                // that took part, each with one rank
    double clock_ns = 0;                          // cost of reading the clock
    std::vector<SignalLatency> signal_latencies;  // rank 0 with each other
    double yield_ns = 0;                          // from one rank to the next on the same core
    double wake_ns = 0;  // futex: from the call that wakes to running, other core
    double wake_same_core_ns = 0;
    std::vector<Curve> curves;
    Rates staged;               // each core: copied in and out of shared pieces of this size
    double single_copy_ns = 0;  // process_vm_readv or _writev of 64 bytes
    Rates single_copy;          // for larger sizes
    std::vector<StreamTrial> stream_trials;
    Bytes stream_from;                   // see HostTuning
    double taken = 0;                    // share of the cores' time that others had meanwhile
    std::optional<HostNetwork> network;  // if there are several hosts; all else is the first host's

    /// The curve, or null.
    const Curve* curve(std::string_view pass, std::string_view stores, int cores_active) const;

    /// The least of all pairs.
    double one_way_ns() const;
    double exchange_ns() const;

    bool operator==(const Limits&) const = default;
};

/// Whether the limits have curves of rewritten sources, or there is no other core to write any.
/// Limits of earlier versions have none.
bool know_rewritten_input(const Limits& limits);

/// The least size at which streaming is clearly faster (5 %) and above which it is nowhere clearly
/// slower; beyond all sizes if there is none.
Bytes stream_from(std::span<const StreamTrial> trials);

/// Whether these are limits of the host with this fingerprint, of at least as many cores, that
/// know_rewritten_input(). Limits of fewer cores would count ranks as oversubscribed.
bool are_for(const Limits& limits, std::string_view topo_sha256, int cores);

/// The better of each figure: a machine is noisy (a virtual one moves its cores about), and a
/// limit is the best that it does. Of unlike numbers of cores it is those of more of them, with
/// what fewer have shown to be better. Where the two are not of the same host and kernels, or
/// `before` does not know_rewritten_input() and has more cores, `now` alone.
Limits best_of(const Limits& now, const Limits& before);

/// Whether other programs had so large a share of the cores' time that the measurement is not kept.
inline bool is_disturbed(double taken) { return taken > 0.05; }

/// Limits for later runs, where `before` is kept (or nothing) and these are measured now: the
/// better of each figure. Nothing where they would be kept as limits of a machine that was busy:
/// what was measured then may only improve what is known, as a limit is the best that was ever
/// seen.
std::optional<Limits> limits_to_keep(const Limits& now, const std::optional<Limits>& before);

/// Lowers `so_far` to `now`; 0 means unknown.
inline void keep_least(double& so_far, double now) {
    if (now > 0 && (so_far == 0 || now < so_far)) so_far = now;
}

/// Returns the file of the stored limits of a host with this fingerprint:
/// ${XDG_CACHE_HOME:-$HOME/.cache}/tutti/limits-FINGERPRINT.json. None if neither is set.
std::optional<std::filesystem::path> limits_path(const std::string& fingerprint);

/// The last limits in a file of `tutti limits`, or in any results file. Throws Error, one line, if
/// it cannot be read, holds none, or what it holds makes no sense.
Limits read_limits(const std::filesystem::path& path);

/// Replaces the file as a whole: a reader at the same time gets the old limits or the new ones.
/// Throws Error if it cannot be written.
void keep_limits(const Limits& limits, const std::filesystem::path& path);

}  // namespace tutti
