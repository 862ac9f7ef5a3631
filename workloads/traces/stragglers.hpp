// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// The arrivals of one rank at collectives. The last rank to arrive does not wait for others, so
/// its call takes the least time; every other rank waits for it as much longer as its own takes.
struct RankArrivals {
    std::string name;           ///< "HOST:PID", or the file
    std::int64_t calls = 0;     ///< collectives whose times are known on all of their ranks
    std::int64_t last = 0;      ///< it arrived last
    double expected_last = 0;   ///< as often as if all ranks were alike
    double caused_wait_ns = 0;  ///< mean wait of the other ranks for it, over these calls
    // If only sums are known:
    std::int64_t waited_least = 0;  ///< collectives of the call sites where it waited least
    double deviation_ns = 0;        ///< standard deviation of caused_wait_ns, at most
    std::int64_t missing = 0;       ///< collectives that other ranks have begun, and it has not
    std::string fault;  ///< why it does not answer, as "does not answer RAS"; empty: it does
};

struct Stragglers {
    std::vector<RankArrivals> ranks;  ///< of the whole job
    std::int64_t calls = 0;
    double spent_ns = 0;     ///< time of the longest rank, over all calls
    std::int64_t begun = 0;  ///< collectives that the rank furthest ahead has begun
    bool has_times = false;
    bool is_summed = false;  ///< only sums of times are known, not which rank was last in a call

    /// Returns the rank that others wait for: last much more often than by chance, and for at least
    /// 2 % of the time; none if there is none, or if only sums are known.
    std::optional<int> slow_rank() const;
    /// If only sums are known: returns the rank that others wait for, for at least 2 % of the time.
    /// Sums do not tell which ranks were in a call together, so they prove nothing.
    std::optional<int> suspected_rank() const;
    /// If only sums are known: returns whether others may wait for the rank by chance, as in a few
    /// long calls.
    bool is_by_chance(int rank) const;
    /// Returns a rank that does not answer, or the one that has begun the fewest collectives if
    /// another has begun more.
    std::optional<int> missing_rank() const;
};

/// Reads logs of one kind, which their content tells: `typed` as for read_trace(). Clocks of hosts
/// are not compared. Throws Error naming the file.
Stragglers stragglers_in(const std::string& typed);

}  // namespace tutti
