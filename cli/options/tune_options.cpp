// SPDX-License-Identifier: Apache-2.0
#include "cli/options/tune_options.hpp"

#include <fmt/format.h>

#include "autotune/tuner/tasks.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

// Options as typed whose meaning depends on others.
struct Typed {
    SizeSweep range;
    std::string search, hold_out;
    int repetitions = 20;
    std::vector<std::string> explain, merge;
    bool model_only = false;
};

// Parses one of these words to itself.
OneOf<std::string> word_of(const char* option, const std::vector<std::string>& words) {
    OneOf<std::string> parse{option, {}};
    for (const auto& word : words) parse.known.emplace_back(word, word);
    return parse;
}

void add_subjects(const OptionGroup& group, TuneRequest& request, SizeSweep& range) {
    group.parsed("collectives", request.collectives, "all",
                 list_of(all_collectives(), parse_collective), "a list or all");
    group.parsed("-b,--minbytes", range.first, "8", parse_bytes, "smallest size (K, M, G = 1024)");
    group.parsed("-e,--maxbytes", range.last, "16M", parse_bytes,
                 "largest size; its choice holds above, too");
    group.parsed("-f,--stepfactor", range.factor, "2", parse_factor, "from size to size")
        ->type_name("FLOAT");
    group.parsed("-d,--datatype", request.types, "float",
                 list_of(all_data_types(), parse_data_type),
                 "types, a list or all; each stands for its class");
    group.parsed("-o,--op", request.ops, "sum", list_of(all_ops(), parse_op),
                 "operations, a list or all; each stands for its class");
    group.parsed(
        "--buffers", request.buffers, "", parse_buffers,
        "registered, unregistered, mapped, pinned, device, as in 'tutti bench', or several, as a "
        "list; else the first two where that is possible");
}

void add_trials(const OptionGroup& group, SearchSpace& space) {
    group.parsed("--algo", space.algorithms, "all", split_list, "algorithms, a list or all");
    group.parsed("--transport", space.transports, "all", split_list, "transports, a list or all");
    group.parsed("--baseline", space.baselines, "mpi", split_list,
                 "libraries' own collectives, which a table may choose as well; none, or mpi/all "
                 "for every algorithm of the library");
    for (const Knob& knob : knobs)
        group.parsed("--" + std::string(knob.name), space.knobs[knob.name], knob.searched,
                     values_of(knob), knob.help);
}

void add_search(const OptionGroup& group, TuneOptions& options, Typed& typed) {
    TuneRequest& request = options.request;
    auto search = word_of("--search", {"bisect", "exhaustive", "evaluated"});
    search.old_spellings = {{"judged", "evaluated"}};
    group.parsed("--budget", request.budget_seconds, "150s", parse_seconds,
                 "time for all, hold-out included; with --launches for each launch");
    group.parsed("--search", typed.search, "bisect", search,
                 "exhaustive: every variant at every size; evaluated: bisect, then exhaustive to "
                 "evaluate it  (see scripts/check_tuning)");
    group
        .number("--repetitions", typed.repetitions, 1, 100'000,
                "of every variant, where the search is exhaustive")
        ->capture_default_str();
    group.parsed("--hysteresis", request.search.hysteresis, "3%", parse_fraction,
                 "neighbours share a choice that costs less");
    group.parsed("--hold-out", typed.hold_out, "yes", word_of("--hold-out", {"yes", "no", "only"}),
                 "yes: each choice is raced against the library once more at the end; no; only: "
                 "nothing else, in this launch, for a table that exists");
    group.parsed("--model", options.model, "measure",
                 word_of("--model", {"measure", "stored", "none"}),
                 "of costs; stored: what an earlier run has measured");
    group.flag("--keep-anyway", options.keeps_anyway,
               "keep the model for other commands although others use the cores");
    group.parsed("--sync", request.protocol.sync, "auto", parse_sync,
                 "how a call starts; row: many of them behind one barrier");
    group.seed(request.protocol.seed, "of the order of candidates and of the check data");
    add_rank_options(group, options.run);
    add_launches({group.app(), "Ranks"}, options.run);
}

void add_tables(const OptionGroup& group, TuneOptions& options, Typed& typed) {
    group.text("--table", options.table_file, "the table to write");
    group.flag("--resume", options.resume, "go on with a search that was interrupted");
    group.flag("--model-only", typed.model_only,
               "a table by the cost model alone, for the rank counts of --for-ranks");
    group.parsed("--for-ranks", options.rank_counts, "", parse_rank_counts,
                 "rank counts of --model-only: 8,16,64");
    group.number("--ranks-per-host", options.ranks_per_host, 1, 1 << 20,
                 "of --model-only; else all on one");
    group.list("--explain", typed.explain, "print what these tables say, and why");
    group.text("--svg", options.svg_file, "of --explain: draw the decision maps");
    group.list("--merge", typed.merge, "these tables become one, see --table");
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

void complete(TuneRequest& request, const Typed& typed) {
    request.sizes = typed.range.sizes();
    std::erase_if(request.sizes, [](Bytes size) { return size.count == 0; });
    if (request.sizes.empty())
        throw Error("there is no size to tune; type for example -b 8 -e 16M");
    for (const Collective collective : request.collectives)  // throws for unknown names
        if (candidates(collective, request.search_space).empty())
            throw Error("nobody takes part; type --algo all or --baseline mpi");
    if (request.budget_seconds <= 0) throw Error("--budget 0 leaves no time; type --budget 60s");
    request.protocol.most_calls_of_batch = 4;  // batches alternate often, as machines are noisy
    request.protocol.warm_up_ns = 200'000;
    request.search.rounds = {{2, 1.6}, {2, 1.25}};
    request.search.sample_share = 0.06;  // with the calibration of the model, still below a tenth
    request.search.model_factor = 3;     // which is good to some 15 % where there are cores for all
    if (typed.search == "exhaustive") request.repetitions_of_all = typed.repetitions;
    if (typed.search == "evaluated") request.repetitions_of_evaluation = typed.repetitions;
    request.holds_out = typed.hold_out != "no";
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
        {"--svg", options.job == Job::explain, "draws what --explain prints; add --explain TABLE"},
        {"--for-ranks", predicts, "is of --model-only; add that"},
        {"--ranks-per-host", predicts, "is of --model-only; add that"},
        {"--launches", options.measures(), "starts ranks, for which there is nothing to do here"},
        {"--launcher", options.measures(), "starts ranks, for which there is nothing to do here"},
        {"--resume", !options.run.starts_launches(),
         "goes on with one launch; leave --launches out"},
        {"--search", request.repetitions_of_evaluation == 0 || !options.run.starts_launches(),
         "evaluated is of one launch; leave --launches out"},
        {"--repetitions", request.repetitions_of_all + request.repetitions_of_evaluation > 0,
         "is of exhaustive searches; add --search exhaustive or evaluated"},
        {"--hold-out", !request.holds_out || options.has_library(),
         "compares with a library's own collective; add --baseline mpi"},
    };
    for (const auto& [option, has_effect, remedy] : rules)
        if (app.count(option) > 0 && !has_effect)
            throw Error(fmt::format("{} {}, or leave {} out", option, remedy, option));
}

}  // namespace

bool TuneOptions::has_library() const {
    return library_in(candidates(request.collectives.front(), request.search_space)) != nullptr;
}

std::optional<TuneOptions> parse_tune(const Arguments& arguments) {
    TuneOptions options;
    options.run.command = "tune";
    options.run.arguments = arguments;
    Typed typed;
    CLI::App app{
        "Finds the best configuration for each collective and size on these ranks, and writes a "
        "table of them.",
        "tutti tune"};
    add_subjects({app, "What to tune"}, options.request, typed.range);
    add_trials({app, "Who takes part"}, options.request.search_space);
    add_search({app, "How to search"}, options, typed);
    add_tables({app, "Tables"}, options, typed);
    options.named.add_option({app, "Who takes part"});
    if (parse_or_help(app, arguments)) return std::nullopt;

    options.named.read({app, ""});
    options.job = job_of(typed);
    complete(options.request, typed);
    options.inputs = typed.explain.empty() ? typed.merge : typed.explain;
    if (options.job == TuneOptions::Job::model_only && options.rank_counts.empty())
        throw Error("--model-only needs rank counts; add for example --for-ranks 8,16,64");
    refuse_idle(app, options);
    options.run.as_understood = understood(app);
    return options;
}

}  // namespace tutti
