// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "library/mpi/settings.hpp"

namespace tutti {

/// Who does a call.
enum class By : std::uint8_t { library, tutti };

/// Calls of a kind whose bytes (of one rank's vector or block) have the same highest bit.
struct SizeClass {
    CallKind kind = CallKind::all_reduce;
    int octave = 0;  ///< 0 bytes, 1, 2 to 3, 4 to 7, ...
    bool operator==(const SizeClass&) const = default;
};
inline constexpr int octaves = 40;
inline SizeClass size_class(CallKind kind, std::int64_t bytes) {
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
    return {kind, std::min(bits, octaves - 1)};
}

/// The mean time of a call, in ns, in two blocks that follow each other.
struct BlockPair {
    double library = 0, tutti = 0;
};

/// What this process has done of one class.
struct ClassTotals {
    std::int64_t calls = 0, by_tutti = 0;
    std::vector<BlockPair> pairs;
    std::int64_t rare = 0;  ///< calls left to the MPI library: their length repeats too rarely
};

/// Whose turn it is in one class of calls of one communicator, by counts that are the same on all
/// its ranks; and how long the timed ones took on this rank.
class ClassTurns {
public:
    struct Turn {
        By by = By::tutti;
        bool is_timed = false;
    };

    /// Of the next call. Two blocks begin each period, one by the library and one by tutti, and
    /// whoever was first in one period is second in the next; tutti does what is left of it. Where
    /// only a report is wanted, periods are long, and the first has no blocks.
    Turn next(const PreloadSettings& settings);
    /// The time of the call that next() was asked for.
    void took(double ns, const Turn& turn);
    /// A call that was passed on to the library without a turn.
    void count_passed() { ++totals.calls; }
    void count_rare() {
        ++totals.calls;
        ++totals.rare;
    }

    ClassTotals totals;

private:
    std::int64_t calls_ = 0;
    std::int64_t block_ = 0;
    BlockPair sum_;
    std::int64_t timed_ = 0;
};

/// All classes of one communicator, made when first met. Adds its totals to those of the process
/// when it ends.
class Turns {
public:
    ~Turns();
    ClassTurns& of(SizeClass size_class);

private:
    std::deque<std::pair<SizeClass, ClassTurns>> classes_;  // which stay where they are
    std::array<std::array<std::uint16_t, octaves>, call_kinds> place_of_ =
        {};  // behind it; 0: none
};

/// The totals of all communicators that have ended, in the order of kinds and sizes.
struct ProcessTotals {
    SizeClass size_class;
    ClassTotals totals;
};
std::vector<ProcessTotals> process_totals();

/// The report as lines, of the totals of each rank.
std::string report_of(std::span<const std::vector<ProcessTotals>> ranks);

/// Gathers the totals of all ranks of the job and prints the report on the first. Collective over
/// MPI_COMM_WORLD, while MPI runs.
void print_report();

}  // namespace tutti
