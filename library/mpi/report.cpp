// SPDX-License-Identifier: Apache-2.0
// The report that the preloaded library prints at the end of a program.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/index.hpp"
#include "base/units.hpp"
#include "library/mpi/turns.hpp"
#include "results/statistics/signed_rank.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr double confidence = 0.95;

using Key = std::pair<CallKind, int>;

// One class of calls, over all ranks that made such calls.
struct ClassOfJob {
    std::int64_t calls = 0, by_tutti = 0, rare = 0, left = 0;  // maximum over the ranks
    std::vector<BlockPair> pairs;  // means over the ranks that have times
};

std::map<Key, ClassOfJob> over_ranks(std::span<const std::vector<ProcessTotals>> ranks) {
    std::map<Key, ClassOfJob> job;
    std::map<Key, std::vector<const std::vector<BlockPair>*>> timed;
    for (const auto& of_rank : ranks)
        for (const auto& [size_class, totals] : of_rank) {
            const Key key{size_class.kind, size_class.octave};
            ClassOfJob& one = job[key];
            one.calls = std::max(one.calls, totals.calls);
            one.by_tutti = std::max(one.by_tutti, totals.by_tutti);
            one.rare = std::max(one.rare, totals.rare);
            one.left = std::max(one.left, totals.left);
            if (!totals.pairs.empty()) timed[key].push_back(&totals.pairs);
        }
    for (const auto& [key, of_ranks] : timed) {
        const auto fewest = *std::ranges::min_element(
            of_ranks, {}, [](const std::vector<BlockPair>* pairs) { return pairs->size(); });
        std::vector<BlockPair> means(fewest->size());
        for (std::size_t i = 0; i < means.size(); ++i)
            for (const auto* pairs : of_ranks) {
                means[i].library += (*pairs)[i].library / static_cast<double>(of_ranks.size());
                means[i].tutti += (*pairs)[i].tutti / static_cast<double>(of_ranks.size());
            }
        job[key].pairs = std::move(means);
    }
    return job;
}

double median_of(const std::vector<BlockPair>& pairs, double BlockPair::*side) {
    std::vector<double> times;
    for (const BlockPair& pair : pairs) times.push_back(pair.*side);
    return median(std::move(times));
}

// Returns the sizes of an octave, such as "16K-32K".
std::string sizes_of(int octave) {
    if (octave <= 1) return std::to_string(octave);
    const Bytes first{std::int64_t{1} << (octave - 1)}, last{std::int64_t{1} << octave};
    return to_string(first) + "-" + to_string(last);
}

double percent(double logarithm) { return 100 * std::expm1(logarithm); }

std::string line_of(const Key& key, const ClassOfJob& one, double& won) {
    std::string line = fmt::format("# {:<15} {:>11} {:>10} {:>10}", name_of(key.first),
                                   sizes_of(key.second), one.calls, one.by_tutti);
    if (one.pairs.empty()) return line + "   too few calls to compare\n";
    std::vector<double> changes;
    for (const BlockPair& pair : one.pairs) changes.push_back(std::log(pair.tutti / pair.library));
    const Shift shift = shift_of(changes, confidence);
    const double library = median_of(one.pairs, &BlockPair::library) * 1e-3,
                 tutti = median_of(one.pairs, &BlockPair::tutti) * 1e-3;
    const double seconds = (library - tutti) * static_cast<double>(one.by_tutti) * 1e-6;
    won += seconds;
    line +=
        fmt::format(" {:>10.2f} {:>10.2f} {:>+9.1f} %", library, tutti, percent(shift.estimate));
    line += std::isfinite(shift.low) && std::isfinite(shift.high)
                ? fmt::format("  {:>22}", fmt::format("[{:+.1f} %, {:+.1f} %]", percent(shift.low),
                                                      percent(shift.high)))
                : fmt::format("  {:>22}", "too few blocks");
    return line + fmt::format(" {:>11.3f}\n", seconds);
}

// Serialises the totals: kind, octave, calls, calls by tutti, rare calls, left calls, number of
// pairs, pairs.
std::vector<double> as_numbers(const std::vector<ProcessTotals>& totals) {
    std::vector<double> numbers;
    for (const auto& [size_class, one] : totals) {
        for (const auto number : {static_cast<std::int64_t>(size_class.kind),
                                  std::int64_t{size_class.octave}, one.calls, one.by_tutti,
                                  one.rare, one.left, static_cast<std::int64_t>(one.pairs.size())})
            numbers.push_back(static_cast<double>(number));
        for (const BlockPair& pair : one.pairs) {
            numbers.push_back(pair.library);
            numbers.push_back(pair.tutti);
        }
    }
    return numbers;
}

std::vector<ProcessTotals> from_numbers(std::span<const double> numbers) {
    std::vector<ProcessTotals> all;
    while (!numbers.empty()) {
        ProcessTotals one{{static_cast<CallKind>(numbers[0]), static_cast<int>(numbers[1])}, {}};
        one.totals.calls = static_cast<std::int64_t>(numbers[2]);
        one.totals.by_tutti = static_cast<std::int64_t>(numbers[3]);
        one.totals.rare = static_cast<std::int64_t>(numbers[4]);
        one.totals.left = static_cast<std::int64_t>(numbers[5]);
        one.totals.pairs.resize(static_cast<std::size_t>(numbers[6]));
        numbers = numbers.subspan(7);
        for (BlockPair& pair : one.totals.pairs) {
            pair = {numbers[0], numbers[1]};
            numbers = numbers.subspan(2);
        }
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace

std::string report_of(std::span<const std::vector<ProcessTotals>> ranks) {
    const auto job = over_ranks(ranks);
    if (job.empty()) return "# tutti: no supported collective was called\n";
    std::string text = fmt::format(
        "# tutti: collectives of {} ranks. Times are in us per call: medians over blocks of calls, "
        "means over ranks. `change` has a {:.0f} % confidence interval\n"
        "# {:<15} {:>11} {:>10} {:>10} {:>10} {:>10} {:>11}  {:>22} {:>11}\n",
        ranks.size(), 100 * confidence, "collective", "bytes", "calls", "by tutti", "library",
        "tutti", "change", "interval", "won, s");
    double won = 0;
    std::int64_t rare = 0, left = 0;
    for (const auto& [key, one] : job) {
        text += line_of(key, one, won);
        rare += one.rare;
        left += one.left;
    }
    if (left > 0)
        text += fmt::format(
            "# tutti: {} calls were left to the MPI library, because it did them faster\n", left);
    if (rare > 0)
        text += fmt::format(
            "# tutti: {} calls were left to the MPI library, because their lengths repeated too "
            "rarely "
            "for a plan to pay\n",
            rare);
    return text + fmt::format(
                      "# tutti: {:.3f} s saved in collectives (estimate: calls by tutti times the "
                      "difference of the times)\n",
                      won);
}

void print_report() {
    int rank = 0, size = 1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::vector<double> mine = as_numbers(process_totals());
    const int count = int_size(mine);
    std::vector<int> counts(as_size(size)), places(as_size(size));
    PMPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    int all_count = 0;
    for (int one = 0; one < size; ++one) {
        at(places, one) = all_count;
        all_count += at(counts, one);
    }
    std::vector<double> all(as_size(rank == 0 ? all_count : 0));
    PMPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), places.data(),
                 MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    std::vector<std::vector<ProcessTotals>> ranks;
    for (int one = 0; one < size; ++one)
        ranks.push_back(from_numbers(
            std::span(all).subspan(as_size(at(places, one)), as_size(at(counts, one)))));
    fmt::print(stderr, "{}", report_of(ranks));
    std::fflush(stderr);
}

}  // namespace tutti
