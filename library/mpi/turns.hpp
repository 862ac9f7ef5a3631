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

/// The implementation that does a call.
enum class By : std::uint8_t { library, tutti };

/// Calls of one kind whose sizes (of a rank's vector or block) have the same highest bit.
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

/// The mean times of a call in two consecutive blocks of calls, in ns.
struct BlockPair {
    double library = 0, tutti = 0;
};

/// Totals of one class in this process.
struct ClassTotals {
    std::int64_t calls = 0, by_tutti = 0;
    std::vector<BlockPair> pairs;
    std::int64_t rare = 0;  ///< calls left to the MPI library: their length repeats too rarely
    std::int64_t left = 0;  ///< calls left to the MPI library: it does them faster
};

/// Alternates between the MPI library and tutti in one class of calls of one communicator. Decides
/// by counts that are equal on all ranks. Collects the times of timed calls on this rank.
class ClassTurns {
public:
    struct Turn {
        By by = By::tutti;
        bool is_timed = false;
    };

    /// Returns the turn of the next call. A period begins with two blocks of calls, one by the MPI
    /// library and one by tutti; their order alternates. Tutti does the rest of the period. If only
    /// a report is requested, periods are long, and the first one has no blocks.
    Turn next(const PreloadSettings& settings);
    /// Records the time of the call.
    void took(double ns, const Turn& turn);
    /// Counts a call that was passed to the MPI library.
    void count_passed() { ++totals.calls; }
    void count_rare() {
        ++totals.calls;
        ++totals.rare;
    }

    /// Reports that the turn of tutti was left to the MPI library, which does such calls faster.
    void count_left() {
        --totals.by_tutti;
        ++totals.left;
    }

    ClassTotals totals;

private:
    std::int64_t calls_ = 0;
    std::int64_t block_ = 0;
    BlockPair sum_;
    std::int64_t timed_ = 0;
};

/// All classes of one communicator. The destructor adds its totals to those of the process.
class TurnsOfCalls {
public:
    ~TurnsOfCalls();
    ClassTurns& of(SizeClass size_class);

private:
    std::deque<std::pair<SizeClass, ClassTurns>> classes_;  // a deque, for stable references
    std::array<std::array<std::uint16_t, octaves>, call_kinds> place_of_ =
        {};  // index + 1; 0: none
};

/// Totals of all communicators that have ended, sorted by kind and size.
struct ProcessTotals {
    SizeClass size_class;
    ClassTotals totals;
};
std::vector<ProcessTotals> process_totals();

/// Returns the report for the totals of all ranks.
std::string report_of(std::span<const std::vector<ProcessTotals>> ranks);

/// Gathers the totals of all ranks of the job and prints the report on the first. Collective over
/// MPI_COMM_WORLD, while MPI runs.
void print_report();

}  // namespace tutti
