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

std::string verdict(const Stragglers& found) {
    std::string text;
    if (const auto slow = found.slow_rank()) {
        const RankArrivals& one = at(found.ranks, *slow);
        const std::string how =
            found.is_summed
                ? fmt::format("waited least in {} collectives", one.calls)
                : fmt::format("arrived last in {} of {} collectives", one.last, one.calls);
        text += fmt::format(
            "Straggler: rank {} ({}) {}; each other rank waited {:.3f} ms for it on average, {} of "
            "its time in collectives.\n",
            *slow, printable(one.name), how, one.caused_wait_ns / ns_per_ms,
            share_of(one.caused_wait_ns, found.spent_ns));
    } else if (found.is_summed && found.costly_rank()) {
        const RankArrivals& one = at(found.ranks, *found.costly_rank());
        text += fmt::format(
            "Perhaps rank {} ({}): each other rank waited {:.3f} ms for it, {} of its time in "
            "collectives. A few long calls may be chance, which sums do not tell; use a log of "
            "single calls.\n",
            *found.costly_rank(), printable(one.name), one.caused_wait_ns / ns_per_ms,
            share_of(one.caused_wait_ns, found.spent_ns));
    } else if (found.calls > 0) {
        text += fmt::format("No straggler in {} collectives.\n", found.calls);
    } else if (!found.has_times && found.begun > 0) {
        text += fmt::format("The logs have no times; ranks are compared by {} collectives.\n",
                            found.begun);
    } else {
        text += "No collective has times of all its ranks; use the logs of all ranks.\n";
    }
    if (const auto missing = found.missing_rank()) {
        const RankArrivals& one = at(found.ranks, *missing);
        const std::string how =
            one.fault.empty()
                ? fmt::format("has logged {} collectives fewer than another rank", one.missing)
                : one.fault;
        text += fmt::format("Missing: rank {} ({}) {}; if the job hangs, the others wait for it.\n",
                            *missing, printable(one.name), how);
    }
    return text;
}

Json to_json(const Stragglers& found) {
    Json ranks = Json::array();
    for (const RankArrivals& one : found.ranks)
        ranks.push_back({{"process", one.name},
                         {"collectives", one.calls},
                         {"last", found.is_summed ? Json() : Json(one.last)},
                         {"others_waited_ns", one.caused_wait_ns},
                         {"missing", one.fault.empty() ? Json(one.missing) : Json()},
                         {"fault", one.fault.empty() ? Json() : Json(one.fault)}});
    const auto or_null = [](std::optional<int> rank) { return rank ? Json(*rank) : Json(); };
    return {{"collectives", found.calls},
            {"spent_ns", found.spent_ns},
            {"straggler", or_null(found.slow_rank())},
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
    fmt::print("\n{}", verdict(found));
    return Exit::ok;
}

}  // namespace tutti
