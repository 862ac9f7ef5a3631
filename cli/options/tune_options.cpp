// SPDX-License-Identifier: Apache-2.0
#include "cli/options/tune_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autotune/tuner/tasks.hpp"
#include "cli/options/shared_options.hpp"
#include "cli/options/typed_values.hpp"

namespace tutti {
namespace {

// As typed; one member per option, with its default.
struct Typed {
    std::string collectives = "all", min_bytes = "8", max_bytes = "16M";
    double step_factor = 2;
    std::string types = "float", ops = "sum", buffers;
    std::string algorithms = "all", transports = "all", baselines = "mpi";
    std::map<std::string, std::string> knobs;
    std::string budget = "150s", hysteresis = "3%", sync = "auto", search = "bisect",
                hold_out = "yes", model = "measure";
    std::string table_file = "tutti-table.json", svg_file, rank_counts;
    std::vector<std::string> explain, merge;
    int repetitions = 20, ranks_per_host = 0;
    std::uint64_t seed = 1;
    bool resume = false, model_only = false;
    RankWords of_ranks;
};

void declare(CLI::App& app, Typed& typed) {
    const std::string what = "What to tune", race = "Who takes part", search = "How to search",
                      table = "Tables";
    const auto text = [&](auto&&... words) { add_text(app, words...); };
    text("collectives", typed.collectives, "a list or all", what);
    text("-b,--minbytes", typed.min_bytes, "smallest size (K, M, G = 1024)", what);
    text("-e,--maxbytes", typed.max_bytes, "largest size; its choice holds above, too", what);
    app.add_option("-f,--stepfactor", typed.step_factor, "from size to size")
        ->group(what)
        ->capture_default_str();
    text("-d,--datatype", typed.types, "types, a list or all; each stands for its class", what);
    text("-o,--op", typed.ops, "operations, a list or all; each stands for its class", what);
    text("--buffers", typed.buffers,
         "registered, unregistered, pinned, device, as in 'tutti bench', or several, as a list; "
         "else "
         "the first two where that is possible",
         what);
    text("--algo", typed.algorithms, "algorithms, a list or all", race);
    text("--transport", typed.transports, "transports, a list or all", race);
    text("--baseline", typed.baselines,
         "libraries' own collectives, which a table may choose as well; none, or mpi/all for every "
         "algorithm of the library",
         race);
    for (const Knob& knob : knobs)
        text("--" + std::string(knob.name), typed.knobs[knob.name] = knob.searched, knob.what,
             race);
    text("--budget", typed.budget, "time for all, hold-out included", search);
    text("--search", typed.search,
         "bisect; exhaustive: every variant at every size; judged: bisect, and exhaustive beside "
         "it to "
         "judge it by (see scripts/check_tuning)",
         search);
    app.add_option("--repetitions", typed.repetitions,
                   "of every variant, where the search is exhaustive")
        ->group(search)
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    text("--hysteresis", typed.hysteresis, "neighbours share a choice that costs less", search);
    text("--hold-out", typed.hold_out,
         "yes: each choice is raced against the library once more at the end; no; only: nothing "
         "else, in this launch, for a table that exists",
         search);
    text("--model", typed.model, "measure, none, or stored: what an earlier run has measured",
         search);
    text("--sync", typed.sync,
         "start of a call: auto, deadline, barrier, or a row of calls at a barrier", search);
    app.add_option("--seed", typed.seed, "of the order of candidates and of the check data")
        ->group(search)
        ->capture_default_str();
    typed.of_ranks.declare(app, search);
    text("--table", typed.table_file, "the table to write", table);
    app.add_flag("--resume", typed.resume, "go on with a search that was interrupted")
        ->group(table);
    app.add_flag("--model-only", typed.model_only,
                 "a table by the cost model alone, for the rank counts of --for-ranks")
        ->group(table);
    text("--for-ranks", typed.rank_counts, "rank counts of --model-only: 8,16,64", table);
    app.add_option("--ranks-per-host", typed.ranks_per_host, "of --model-only; else all on one")
        ->group(table)
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--explain", typed.explain, "print what these tables say, and why")
        ->group(table);
    text("--svg", typed.svg_file, "of --explain: draw the decision maps", table);
    app.add_option("--merge", typed.merge, "these tables become one, see --table")->group(table);
}

TuneOptions::Job job_of(const Typed& typed) {
    using Job = TuneOptions::Job;
    std::vector<Job> jobs;
    if (!typed.explain.empty()) jobs.push_back(Job::explain);
    if (!typed.merge.empty()) jobs.push_back(Job::merge);
    if (typed.model_only) jobs.push_back(Job::model_only);
    if (typed.hold_out == "only") jobs.push_back(Job::hold_out);
    if (jobs.size() > 1)
        throw Error(
            "--explain, --merge, --model-only and --hold-out only are a job each; type one");
    return jobs.empty() ? Job::tune : jobs.front();
}

std::vector<int> rank_counts_of(const std::string& text) {
    std::vector<int> counts;
    for (const auto& item : split_list(text)) {
        const auto count = number_in(item, 1 << 20);
        if (!count || *count < 1)
            throw Error("'" + item + "' is no rank count; type for example --for-ranks 8,16,64");
        counts.push_back(static_cast<int>(*count));
    }
    return counts;
}

TuneRequest request_of(const Typed& typed) {
    TuneRequest request;
    request.collectives = values_of(typed.collectives, all_collectives(), parse_collective);
    request.types = values_of(typed.types, all_data_types(), parse_data_type);
    request.ops = values_of(typed.ops, all_ops(), parse_op);
    request.buffers = buffer_kinds_of(typed.buffers);
    request.sizes = sizes_by_factor(typed.min_bytes, typed.max_bytes, typed.step_factor);
    std::erase_if(request.sizes, [](Bytes size) { return size.count == 0; });
    if (request.sizes.empty())
        throw Error("there is no size to tune; type for example -b 8 -e 16M");
    request.search_space = {.algorithms = split_list(typed.algorithms),
                            .transports = split_list(typed.transports),
                            .baselines = split_list(typed.baselines)};
    for (const Knob& knob : knobs)
        request.search_space.knobs[knob.name] = values_of(knob, typed.knobs.at(knob.name));
    for (const Collective collective : request.collectives)  // throws for unknown names
        if (candidates(collective, request.search_space).empty())
            throw Error("nobody takes part; type --algo all or --baseline mpi");
    request.protocol.sync = sync_of(typed.sync);
    request.protocol.seed = typed.seed;
    request.protocol.most_calls_of_batch = 4;  // turns are taken often, as machines have moods
    request.protocol.warm_up_ns = 200'000;
    request.budget_seconds = parse_seconds(typed.budget);
    if (request.budget_seconds <= 0) throw Error("--budget 0 leaves no time; type --budget 60s");
    request.search.hysteresis = parse_fraction(typed.hysteresis);
    request.search.rounds = {{2, 1.6}, {2, 1.25}};
    request.search.sample_share = 0.06;  // with the calibration of the model, still below a tenth
    request.search.model_factor = 3;     // which is good to some 15 % where there are cores for all
    using Repetitions = int TuneRequest::*;
    const auto exhaustive = word<Repetitions>("--search", typed.search,
                                              {{"bisect", nullptr},
                                               {"exhaustive", &TuneRequest::repetitions_of_all},
                                               {"judged", &TuneRequest::repetitions_to_judge}});
    if (exhaustive != nullptr) request.*exhaustive = typed.repetitions;
    request.holds_out =
        word<bool>("--hold-out", typed.hold_out, {{"yes", true}, {"no", false}, {"only", true}});
    return request;
}

bool has_library(const TuneRequest& request) {
    return library_in(candidates(request.collectives.front(), request.search_space)) != nullptr;
}

// What would be passed over in silence.
void refuse_idle(const CLI::App& app, const TuneOptions& options) {
    using Job = TuneOptions::Job;
    const TuneRequest& request = options.request;
    const bool predicts = options.job == Job::model_only;
    const struct {
        const char* option;
        bool has_effect;
        const char* remedy;
    } rules[] = {
        {"--svg", options.job == Job::explain, "draws what --explain tells; add --explain TABLE"},
        {"--for-ranks", predicts, "is of --model-only; add that"},
        {"--ranks-per-host", predicts, "is of --model-only; add that"},
        {"--repetitions", request.repetitions_of_all + request.repetitions_to_judge > 0,
         "is of exhaustive searches; add --search exhaustive or judged"},
        {"--hold-out", !request.holds_out || has_library(request),
         "compares with a library's own collective; add --baseline mpi"},
    };
    for (const auto& [option, has_effect, remedy] : rules)
        if (app.count(option) > 0 && !has_effect)
            throw Error(fmt::format("{} {}, or leave {} out", option, remedy, option));
}

}  // namespace

std::optional<TuneOptions> parse_tune(const Arguments& arguments) {
    Typed typed;
    CLI::App app{
        "Finds the best way for each collective and size on these ranks, and writes a table of "
        "them.",
        "tutti tune"};
    declare(app, typed);
    if (parse_or_help(app, arguments)) return std::nullopt;

    TuneOptions options;
    options.job = job_of(typed);
    options.request = request_of(typed);
    options.table_file = typed.table_file;
    options.inputs = typed.explain.empty() ? typed.merge : typed.explain;
    options.svg_file = typed.svg_file;
    options.rank_counts = rank_counts_of(typed.rank_counts);
    if (options.job == TuneOptions::Job::model_only && options.rank_counts.empty())
        throw Error("--model-only needs rank counts; add for example --for-ranks 8,16,64");
    options.ranks_per_host = typed.ranks_per_host;
    options.model = word<std::string>(
        "--model", typed.model, {{"measure", "measure"}, {"stored", "stored"}, {"none", "none"}});
    options.resume = typed.resume;
    options.pin = typed.of_ranks.pins();
    options.ranks = typed.of_ranks.options({});
    refuse_idle(app, options);
    options.as_understood = understood(app);
    return options;
}

}  // namespace tutti
