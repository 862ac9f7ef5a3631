// SPDX-License-Identifier: Apache-2.0
#include "cli/show/stragglers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/index.hpp"
#include "base/json_writer.hpp"
#include "base/source.hpp"
#include "workloads/traces/stragglers.hpp"

namespace tutti {
namespace {

constexpr double ns_per_ms = 1e6;

std::string share_of(double part, double whole) {
    constexpr double percent = 100;
    return whole == 0 ? "N/A" : fmt::format("{:.1f} %", percent * part / whole);
}

void print_ranks(const Stragglers& found) {
    fmt::print("{:>6} {:>12} {:>12} {:>9} {:>16} {:>8}  {}\n", "rank", "collectives",
               "arrived last", "% last", "mean wait caused", "missing", "process");
    for (std::size_t rank = 0; rank < found.ranks.size(); ++rank) {
        const RankArrivals& one = found.ranks[rank];
        const double last = static_cast<double>(one.last), calls = static_cast<double>(one.calls);
        fmt::print("{:>6} {:>12} {:>12} {:>9} {:>13.3f} ms {:>8}  {}{}{}\n", rank, one.calls,
                   found.is_summed ? "N/A" : std::to_string(one.last),
                   found.is_summed ? "N/A" : share_of(last, calls), one.caused_wait_ns / ns_per_ms,
                   one.fault.empty() ? std::to_string(one.missing) : "N/A",
                   one.name.empty() ? "no log" : printable(one.name), one.fault.empty() ? "" : ", ",
                   one.fault);
    }
}

// The others wait for a rank: how, and for how long.
std::string wait_for(const Stragglers& found, int rank, const std::string& how) {
    const RankArrivals& one = at(found.ranks, rank);
    return fmt::format(
        "rank {} ({}): {}; each other rank waited {:.3f} ms for it on average, {} of its time in "
        "collectives.",
        rank, printable(one.name), how, one.caused_wait_ns / ns_per_ms,
        share_of(one.caused_wait_ns, found.spent_ns));
}

std::string verdict_on_slow(const Stragglers& found) {
    if (const auto slow = found.slow_rank()) {
        const RankArrivals& one = at(found.ranks, *slow);
        const auto how = fmt::format("arrived last in {} of {} collectives", one.last, one.calls);
        return fmt::format("Straggler: {}\n", wait_for(found, *slow, how));
    }
    if (const auto suspected = found.suspected_rank()) {
        const RankArrivals& one = at(found.ranks, *suspected);
        const auto how = fmt::format(
            "waited least on average at call sites with {} of {} "
            "collectives",
            one.waited_least, one.calls);
        return fmt::format(
            "Possible straggler: {} It is not certain, as the log does not tell which ranks were "
            "in a collective together{}. Use a log of single calls.\n",
            wait_for(found, *suspected, how),
            found.is_by_chance(*suspected) ? ", and a few long calls may be chance" : "");
    }
    if (found.calls > 0) return fmt::format("No straggler in {} collectives.\n", found.calls);
    if (found.has_times)
        return "No collective has times of all its ranks; use the logs of all ranks.\n";
    std::string begun = "No collective has started.";
    if (found.begun > 0)
        begun = fmt::format("{} collectives started{}.", found.begun,
                            found.missing_rank() ? "" : "; no rank is missing");
    return fmt::format("The logs have no times, so slow ranks cannot be found. {}\n", begun);
}

std::string verdict_on_missing(const Stragglers& found) {
    const auto missing = found.missing_rank();
    if (!missing) return "";
    const RankArrivals& one = at(found.ranks, *missing);
    const std::string how =
        one.fault.empty()
            ? fmt::format("started {} fewer collectives than the rank that is furthest ahead",
                          one.missing)
            : one.fault;
    return fmt::format("Missing: rank {} ({}): {}; if the job hangs, the others wait for it.\n",
                       *missing, printable(one.name), how);
}

Json to_json(const Stragglers& found) {
    Json ranks = Json::array();
    for (const RankArrivals& one : found.ranks)
        ranks.push_back({{"process", one.name},
                         {"collectives", one.calls},
                         {"last", found.is_summed ? Json() : Json(one.last)},
                         {"expected_last", found.is_summed ? Json() : Json(one.expected_last)},
                         {"waited_least", found.is_summed ? Json(one.waited_least) : Json()},
                         {"others_waited_ns", one.caused_wait_ns},
                         {"deviation_ns", found.is_summed ? Json(one.deviation_ns) : Json()},
                         {"missing", one.fault.empty() ? Json(one.missing) : Json()},
                         {"fault", one.fault.empty() ? Json() : Json(one.fault)}});
    const auto or_null = [](std::optional<int> rank) { return rank ? Json(*rank) : Json(); };
    return {{"collectives", found.calls},
            {"spent_ns", found.spent_ns},
            {"has_times", found.has_times},
            {"begun", found.begun},
            {"straggler", or_null(found.slow_rank())},
            {"suspected", or_null(found.suspected_rank())},
            {"missing", or_null(found.missing_rank())},
            {"ranks", std::move(ranks)}};
}

}  // namespace

Exit show_stragglers(const Arguments& files, bool as_json) {
    if (files.empty()) throw Error("--stragglers needs logs; use files of all ranks, or a folder");
    const Stragglers found = stragglers_in(fmt::format("{}", fmt::join(files, ",")));
    if (as_json) {
        fmt::print("{}\n", one_line(to_json(found)));
        return Exit::ok;
    }
    print_ranks(found);
    fmt::print("\n{}{}", verdict_on_slow(found), verdict_on_missing(found));
    return Exit::ok;
}

}  // namespace tutti
