// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/clock.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/planner/planner.hpp"

namespace tutti {
namespace {

// The values of each knob for which schedules are proved.
using ProvedValues = std::map<const Knob*, IntRange>;

// The proofs of one algorithm over all rank counts.
struct ProofSummary {
    long proofs = 0;
    bool same_bits = true;
    std::optional<std::string> fault;
    std::set<int> proved, refused;       // rank counts
    std::optional<std::string> refusal;  // the reason for the first one
};

std::string knobs_in_words(const Configuration& configuration) {
    std::string text;
    for (const Knob& knob : knobs)
        if (knob.of(configuration) != knob.default_value)
            text += fmt::format(", {} {}", knob.name, knob.text_of(configuration));
    return text;
}

// Proves the job, unless the algorithm refuses it.
void prove_job(const Algorithm& algorithm, const Job& job, ProofSummary& summary) {
    if (const auto refusal = algorithm.refuses(job)) {
        summary.refused.insert(job.ranks);
        if (!summary.refusal) summary.refusal = refusal;
        return;
    }
    Proof proof;
    try {
        proof = prove(build_in_order(algorithm, job),
                      CollectiveSpec{job.collective, job.ranks, job.root});
    } catch (const Error& error) {  // for example a negative number of steps
        proof.fault = error.what();
    }
    ++summary.proofs;
    summary.proved.insert(job.ranks);
    summary.same_bits = summary.same_bits && proof.same_order_everywhere;
    if (proof.fault)
        summary.fault = fmt::format("{} ranks, root {}{}: {}", job.ranks, job.root.index,
                                    knobs_in_words(job.configuration), *proof.fault);
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

// Proves one root and configuration; for pipelined and hierarchical algorithms also segments and
// several placements.
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

// Returns a configuration for each value of the knob. With a value above the rank count, schedules
// are those for the count.
std::vector<Configuration> with_values(const std::vector<Configuration>& configurations,
                                       const Knob& knob, const IntRange& values, int ranks) {
    std::vector<Configuration> all;
    for (const Configuration& one : configurations)
        for (int value = values.first;
             value == values.first || value <= std::min(values.last, ranks); ++value)
            knob.set(all.emplace_back(one), value);
    return all;
}

// Proves every root with every value of the algorithm's own knobs, and root 0 with those that the
// planner uses for all algorithms.
ProofSummary summary_of(const Algorithm& algorithm, const IntRange& ranks,
                        const ProvedValues& values) {
    ProofSummary summary;
    for (int count = ranks.first; count <= ranks.last && !summary.fault; ++count) {
        const auto job_with = [&](const Configuration& configuration, Rank root) {
            return job_of({&algorithm, configuration, {.ranks = count}},
                          {.collective = algorithm.collective, .root = root}, count, {});
        };
        const auto splits = algorithm.hierarchical ? splits_of(count) : std::vector<Placement>{};
        const int roots = has_root(algorithm.collective) ? count : 1;
        std::vector<Configuration> own{{}};
        for (const auto& [knob, proved] : values) {
            if (!makes_use(algorithm, *knob)) continue;
            const auto varied =
                with_values(algorithm.takes(*knob) ? own : std::vector<Configuration>{{}}, *knob,
                            proved, count);
            if (algorithm.takes(*knob))
                own = varied;
            else
                for (const Configuration& one : varied)
                    prove_job(algorithm, job_with(one, Rank{0}), summary);
        }
        for (const Configuration& one : own)
            for (int root = 0; root < roots && !summary.fault; ++root)
                prove_variants(algorithm, job_with(one, Rank{root}), splits, summary);
    }
    return summary;
}

IntRange parse_values(const Knob& knob, const std::string& text) {
    const IntRange values = parse_range(text);
    if (values.first < knob.least || values.last > knob.most)
        throw Error(fmt::format("{} {} is out of range; use --{} {}..{}", knob.name, text,
                                knob.name, knob.least, knob.most));
    return values;
}

std::string in_words(const ProofSummary& summary, Collective collective) {
    if (summary.fault) return "WRONG: " + *summary.fault;
    if (summary.proofs == 0) return "not proved: " + summary.refusal.value_or("no rank counts");
    std::string text = "proved";
    if (reduces(collective))
        text += summary.same_bits ? "; all ranks get the same bits"
                                  : "; ranks may differ in the last bits";
    if (!summary.refusal) return text;
    const auto wholly = std::ranges::count_if(
        summary.refused, [&](int ranks) { return !summary.proved.contains(ranks); });
    text +=
        wholly > 0 ? fmt::format("; refuses {} rank counts: ", wholly) : "; refuses some jobs: ";
    text += *summary.refusal;
    return text;
}

}  // namespace

Exit run_verify(const Arguments& arguments) {
    std::string collective_name, algorithm_name;
    IntRange ranks;
    ProvedValues values;
    CLI::App app{
        "Proves that every rank ends with exactly what the collective specifies, for every root "
        "and several values of each knob, such as the radix.",
        "tutti verify"};
    app.add_option("collective", collective_name, "Collective (default: all)");
    app.add_option("--algo", algorithm_name, "Algorithm (default: all)");
    const OptionGroup group(app, "Options");
    group.parsed("--ranks", ranks, "1..64", parse_range, "Rank counts: 8 or 1..64");
    for (const Knob& knob : knobs)
        if (*knob.proved != '\0')
            group.parsed(
                fmt::format("--{}", knob.name), values[&knob], knob.proved,
                [&knob](const std::string& text) { return parse_values(knob, text); }, knob.what);
    if (parse_or_help(app, arguments)) return Exit::ok;

    std::optional<Collective> only;
    if (!collective_name.empty()) only = parse_collective(collective_name);
    if (only && !algorithm_name.empty()) find_algorithm(*only, algorithm_name);

    const std::int64_t begin = now_ns();
    long proofs = 0, faults = 0, algorithms = 0;
    for (const Algorithm& algorithm : catalog()) {
        if (only && algorithm.collective != *only) continue;
        if (!algorithm_name.empty() && algorithm.name != algorithm_name) continue;
        const ProofSummary summary = summary_of(algorithm, ranks, values);
        ++algorithms;
        proofs += summary.proofs;
        faults += summary.fault ? 1 : 0;
        fmt::print("{:<15} {:<17} {:>6} proofs  {}\n", name_of(algorithm.collective),
                   algorithm.name, summary.proofs, in_words(summary, algorithm.collective));
    }
    if (algorithms == 0)
        throw Error("no algorithm is called '" + algorithm_name + "'; 'tutti list' shows all");
    fmt::print("{} proofs of {} algorithms in {:.1f} s, {} wrong\n", proofs, algorithms,
               seconds_since(begin), faults);
    if (proofs == 0) throw Error("nothing was proved; use --ranks 1..64");
    return faults == 0 ? Exit::ok : Exit::wrong_result;
}

}  // namespace tutti
