// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/clock.hpp"
#include "base/collective_form.hpp"
#include "cli/options/algorithm_files.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/world/world.hpp"
#include "results/records/metric.hpp"
#include "workloads/bench/sweep.hpp"

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
// islands, and five levels.
std::vector<Placement> splits_of(int ranks) {
    std::vector<int> growing, in_turn;
    std::map<Level, std::vector<int>> deep;
    for (int rank = 0; rank < ranks; ++rank) {
        growing.push_back(
            std::bit_width(static_cast<unsigned>(rank)));  // nodes of 1, 1, 2, 4, ... ranks
        in_turn.push_back(rank % 3);
        for (const auto& [level, size] : {std::pair{Level::rack, 24},
                                          {Level::host, 12},
                                          {Level::package, 6},
                                          {Level::numa, 5},
                                          {Level::cache, 2}})
            deep[level].push_back(rank / size);
    }
    return {Placement::in_nodes_of(ranks, 4, 2), Placement::in_nodes_of(ranks, 1),
            Placement::by_label(growing).with_islands_of(3), Placement::by_label(in_turn),
            Placement::of_levels(ranks, deep)};
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

// Calls with blocks of different lengths: what is proved of chunks says nothing of their places.
struct CallSummary {
    long calls = 0;
    std::optional<std::string> fault;
};

// Threads of this process are the ranks; more would take long on few cores.
constexpr int most_called_ranks = 32;

// Returns a sweep of the algorithm in nodes of 4 ranks: empty blocks, empty ranks, a giant block,
// random ones, from fewer elements than blocks to some chunks.
Sweep sweep_of_lengths(const Algorithm& algorithm, int ranks) {
    Sweep sweep;
    sweep.collective = algorithm.collective;
    sweep.candidates =
        candidates(algorithm.collective, {.algorithms = {std::string(algorithm.name)},
                                          .transports = {"shm", "loopback"},
                                          .baselines = {"none"}});
    sweep.counts = {1, 29};
    for (const std::string& rule :
         {std::string("zeros"), std::string("one-giant"), fmt::format("random:{}", ranks)})
        sweep.blocks.push_back(parse_block_rule(rule));
    sweep.roots = {Rank{ranks / 2}};
    sweep.in_place = {false, true};
    sweep.environment = {.ranks = ranks, .hosts = Placement::in_nodes_of(ranks, 4, 2)};
    sweep.protocol.fixed_samples = 1;
    sweep.protocol.warm_up_calls = 0;
    sweep.protocol.sync = Protocol::Sync::barrier;
    return sweep;
}

// Calls the algorithm with random lengths of blocks, and compares all results with a closed form.
CallSummary call_with_lengths(const Algorithm& algorithm, const IntRange& ranks) {
    CallSummary summary;
    const int last = std::min(ranks.last, most_called_ranks);
    for (int count = ranks.first; count <= last && !summary.fault; ++count)
        run_as_threads(count, /*hang_timeout=*/60, [&](World& world) {
            Planner planner(world);
            SweepEvents events;
            events.after_point = [&](const std::vector<Point>& points) {
                if (!world.is_first()) return;
                for (const Point& point : points) {
                    summary.calls += point.skipped ? 0 : 1;
                    if (is_wrong(point))
                        summary.fault = fmt::format("{}, {} elements in all blocks: {} wrong",
                                                    metric_of(point.key), point.key.count,
                                                    point.measured.check.n_wrong);
                }
            };
            run_sweep(planner, sweep_of_lengths(algorithm, count), events);
        });
    return summary;
}

IntRange parse_values(const Knob& knob, const std::string& text) {
    if (knob.has_words()) {
        const int value = word_value_of(knob, text);
        return {value, value};
    }
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
    if (reduces(collective) && !is_prefix(collective))
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

void verify_file(const std::string& path) {
    const FileAlgorithm& file = algorithm_in_file(path);
    const ProofSummary summary{.proofs = 1, .same_bits = file.expect_proof().same_order_everywhere};
    fmt::print("{:<15} {:<17} {:>6} ranks   {}\n", name_of(file.spec.collective()), file.row->name,
               file.spec.ranks(), in_words(summary, file.spec.collective()));
}

}  // namespace

Exit run_verify(const Arguments& arguments) {
    std::string collective_name, algorithm_name, file;
    IntRange ranks;
    ProvedValues values;
    CLI::App app{
        "Proves that every rank ends with exactly what the collective specifies, for every root "
        "and several values of each knob, such as the radix. Algorithms of a collective with "
        "_v are also called, with random lengths of blocks, by up to 32 ranks.",
        "tutti verify"};
    app.add_option("collective", collective_name, "Collective (default: all)");
    app.add_option("--algo", algorithm_name, "Algorithm (default: all)");
    const OptionGroup group(app, "Options");
    group.parsed("--ranks", ranks, "1..64", parse_range, "Rank counts: 8 or 1..64");
    group.text(
        "--from", file,
        "File with the schedule to prove: MSCCL XML, an MSCCL++ plan, or JSON of SCCL or TACCL");
    for (const Knob& knob : knobs)
        if (*knob.proved != '\0')
            group.parsed(
                fmt::format("--{}", knob.name), values[&knob], knob.proved,
                [&knob](const std::string& text) { return parse_values(knob, text); }, knob.what);
    if (parse_or_help(app, arguments)) return Exit::ok;
    if (!file.empty()) {
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0 && !option->check_name("--from"))
                throw Error(fmt::format("{} cannot be used with --from", option->get_name()));
        verify_file(file);
        return Exit::ok;
    }

    std::optional<CollectiveForm> only;
    if (!collective_name.empty()) only = parse_collective_form(collective_name);
    if (only && !algorithm_name.empty()) find_algorithm(only->collective, algorithm_name);
    const bool has_lengths = only && only->has_lengths;

    const std::int64_t begin = now_ns();
    long proofs = 0, faults = 0, algorithms = 0;
    for (const Algorithm& algorithm : catalog()) {
        if (only && algorithm.collective != only->collective) continue;
        if (!algorithm_name.empty() && algorithm.name != algorithm_name) continue;
        const ProofSummary summary = summary_of(algorithm, ranks, values);
        ++algorithms;
        proofs += summary.proofs;
        faults += summary.fault ? 1 : 0;
        std::string verdict = in_words(summary, algorithm.collective);
        if (has_lengths && !summary.fault) {
            const CallSummary called = call_with_lengths(algorithm, ranks);
            faults += called.fault ? 1 : 0;
            verdict = called.fault ? "WRONG: " + *called.fault
                                   : fmt::format("{}; right in {} calls", verdict, called.calls);
        }
        fmt::print("{:<15} {:<17} {:>6} proofs  {}\n",
                   name_of(CollectiveForm{algorithm.collective, has_lengths}), algorithm.name,
                   summary.proofs, verdict);
    }
    if (algorithms == 0)
        throw Error("no algorithm is called '" + algorithm_name + "'; 'tutti list' shows all");
    fmt::print("{} proofs of {} algorithms in {:.1f} s, {} wrong\n", proofs, algorithms,
               seconds_since(begin), faults);
    if (proofs == 0) throw Error("nothing was proved; use --ranks 1..64");
    return faults == 0 ? Exit::ok : Exit::wrong_result;
}

}  // namespace tutti
