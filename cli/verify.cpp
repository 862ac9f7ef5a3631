// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/verify.hpp"

#include <fmt/format.h>

#include <bit>

#include "base/clock.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "collectives/algorithms/catalog.hpp"

namespace tutti {
namespace {

// The proofs of one algorithm over all rank counts.
struct ProofSummary {
    long proofs = 0;
    bool same_bits = true;
    std::optional<std::string> fault;
};

void prove_job(const Algorithm& algorithm, const Job& job, ProofSummary& summary) {
    Proof proof;
    try {
        proof = prove(build_in_order(algorithm, job),
                      CollectiveSpec{job.collective, job.ranks, job.root});
    } catch (const Error& error) {  // for example a negative number of steps
        proof.fault = error.what();
    }
    ++summary.proofs;
    summary.same_bits = summary.same_bits && proof.same_order_everywhere;
    if (proof.fault)
        summary.fault =
            fmt::format("{} ranks, root {}{}: {}", job.ranks, job.root.index,
                        job.radix > 0 ? fmt::format(", radix {}", job.radix) : "", *proof.fault);
}

// Returns placements: equal and unequal nodes, ranks assigned by node and round-robin, nodes with
// islands.
std::vector<Placement> splits_of(int ranks) {
    std::vector<int> growing, in_turn;
    for (int rank = 0; rank < ranks; ++rank) {
        growing.push_back(
            std::bit_width(static_cast<unsigned>(rank)));  // nodes of 1, 1, 2, 4, ... ranks
        in_turn.push_back(rank % 3);
    }
    return {Placement::in_nodes_of(ranks, 4, 2), Placement::in_nodes_of(ranks, 1),
            Placement::by_label(growing).with_islands_of(3), Placement::by_label(in_turn)};
}

// Proves one root and radix; for pipelined and hierarchical algorithms also segments and several
// placements.
void prove_variants(const Algorithm& algorithm, const Job& job,
                    const std::vector<Placement>& splits, ProofSummary& summary) {
    prove_job(algorithm, job, summary);
    for (const Placement& split : splits) {
        Job placed = job;
        placed.placement = split;
        prove_job(algorithm, placed, summary);
    }
    if (!algorithm.pipelines) return;
    Job cut = job;
    cut.segments = 4;
    if (!splits.empty()) cut.placement = splits.front();
    prove_job(algorithm, cut, summary);
}

// Returns the requested radices, if the algorithm takes one. Radices above the rank count all give
// the same schedule.
std::vector<int> radices_of(const Algorithm& algorithm, const IntRange& asked, int ranks) {
    if (!algorithm.takes_radix) return {0};
    std::vector<int> radices{asked.first};
    for (int radix = asked.first + 1; radix <= std::min(asked.last, ranks); ++radix)
        radices.push_back(radix);
    return radices;
}

// Proves every root and radix, and once several channels.
ProofSummary summary_of(const Algorithm& algorithm, const IntRange& ranks,
                        const IntRange& radices) {
    ProofSummary summary;
    for (int count = ranks.first; count <= ranks.last && !summary.fault; ++count) {
        Job job{.collective = algorithm.collective, .ranks = count};
        if (algorithm.refuses(job)) continue;
        const auto splits = algorithm.hierarchical ? splits_of(count) : std::vector<Placement>{};
        const int roots = has_root(job.collective) ? count : 1;
        Job in_channels = job;
        in_channels.order = channels_of({}, 3, count);
        prove_job(algorithm, in_channels, summary);
        for (const int radix : radices_of(algorithm, radices, count)) {
            job.radix = radix;
            for (job.root = {0}; job.root.index < roots && !summary.fault; ++job.root.index)
                prove_variants(algorithm, job, splits, summary);
        }
    }
    return summary;
}

IntRange parse_radix_range(const std::string& text) {
    const IntRange radices = parse_range(text);
    if (radices.first < 2 || radices.last > most_radix)
        throw Error(fmt::format("radix {} is out of range; use --radix 2..{}", text, most_radix));
    return radices;
}

}  // namespace

Exit run_verify(const Arguments& arguments) {
    std::string collective_name, algorithm_name;
    IntRange ranks, radices;
    CLI::App app{
        "Proves that every rank ends with exactly what the collective specifies, for every root "
        "and radix.",
        "tutti verify"};
    app.add_option("collective", collective_name, "Collective (default: all)");
    app.add_option("--algo", algorithm_name, "Algorithm (default: all)");
    const OptionGroup group(app, "Options");
    group.parsed("--ranks", ranks, "1..64", parse_range, "Rank counts: 8 or 1..64");
    group.parsed("--radix", radices, "2..8", parse_radix_range,
                 "Radices of algorithms that take one: 4 or 2..8");
    if (parse_or_help(app, arguments)) return Exit::ok;

    std::optional<Collective> only;
    if (!collective_name.empty()) only = parse_collective(collective_name);
    if (only && !algorithm_name.empty()) find_algorithm(*only, algorithm_name);

    const std::int64_t begin = now_ns();
    long proofs = 0, faults = 0, algorithms = 0;
    for (const Algorithm& algorithm : catalog()) {
        if (only && algorithm.collective != *only) continue;
        if (!algorithm_name.empty() && algorithm.name != algorithm_name) continue;
        const ProofSummary summary = summary_of(algorithm, ranks, radices);
        ++algorithms;
        proofs += summary.proofs;
        faults += summary.fault ? 1 : 0;
        fmt::print("{:<15} {:<17} {:>6} proofs  {}\n", name_of(algorithm.collective),
                   algorithm.name, summary.proofs,
                   summary.fault         ? "WRONG: " + *summary.fault
                   : summary.proofs == 0 ? "not proved: not possible with these rank counts"
                   : !reduces(algorithm.collective) ? std::string("proved")
                   : summary.same_bits ? std::string("proved; all ranks get the same bits")
                                       : std::string("proved; ranks may differ in the last bits"));
    }
    if (algorithms == 0)
        throw Error("no algorithm is called '" + algorithm_name + "'; 'tutti list' shows all");
    fmt::print("{} proofs of {} algorithms in {:.1f} s, {} wrong\n", proofs, algorithms,
               seconds_since(begin), faults);
    if (proofs == 0) throw Error("nothing was proved; use --ranks 1..64");
    return faults == 0 ? Exit::ok : Exit::wrong_result;
}

}  // namespace tutti
