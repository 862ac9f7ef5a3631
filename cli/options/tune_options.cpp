// SPDX-License-Identifier: Apache-2.0
#include "cli/options/tune_options.hpp"

#include <fmt/format.h>

#include "autotune/tuner/tasks.hpp"
#include "base/collective_form.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

// Options as typed, before they are combined.
struct Typed {
    SizeSweep range;
    std::string search, hold_out;
    int repetitions = 20;
    std::vector<std::string> explain, merge;
    bool model_only = false;
};

// Returns a parser that accepts these words and returns the word itself.
OneOf<std::string> word_of(const char* option, const std::vector<std::string>& words) {
    OneOf<std::string> parse{option, {}};
    for (const auto& word : words) parse.known.emplace_back(word, word);
    return parse;
}

// Calls whose blocks differ have the choices of equal blocks with as many bytes in all.
Collective parse_tuned_collective(std::string_view text) {
    return parse_collective_form(text).collective;
}

void add_subjects(const OptionGroup& group, TuneRequest& request, SizeSweep& range) {
    group.parsed(
        "collectives", request.collectives, "all",
        list_of(all_collectives(), parse_tuned_collective),
        "Collectives, a list or all; one with _v (all_to_all_v) uses the choices of the one "
        "with equal blocks, which are then tuned");
    group.parsed("-b,--minbytes", range.first, "8", parse_bytes, "Smallest size (K, M, G = 1024)");
    group.parsed("-e,--maxbytes", range.last, "16M", parse_bytes,
                 "Largest size; also used for all larger sizes");
    group
        .parsed("-f,--stepfactor", range.factor, "2", parse_factor,
                "Factor from one size to the next")
        ->type_name("FLOAT");
    group.parsed(
        "-d,--datatype", request.types, "float", list_of(all_data_types(), parse_data_type),
        "Element types, a list or all; a choice holds for all types of its class (native or half)");
    group.parsed(
        "-o,--op", request.ops, "sum", list_of(all_ops(), parse_op),
        "Reduction operations, a list or all; a choice holds for its class (avg, or all others)");
    group.parsed("--buffers", request.buffers, "", parse_buffers,
                 "Kinds of memory, one or a list: registered, unregistered, mapped, pinned, device "
                 "(see 'tutti bench'). Default: registered and unregistered where possible");
}

void add_trials(const OptionGroup& group, SearchSpace& space) {
    group.parsed("--algo", space.algorithms, "all+", split_list,
                 "Algorithms, a list, all, or all+: also those that all leaves out");
    group.parsed("--transport", space.transports, "all", split_list, "Transports, a list or all");
    group.parsed("--baseline", space.baselines, "mpi", split_list,
                 "Libraries whose own collectives the table may choose, a list or none; mpi/all: "
                 "every algorithm of the library");
    for (const Knob& knob : knobs)
        group.parsed("--" + std::string(knob.name), space.knobs[knob.name], knob.searched,
                     values_of(knob), knob.help);
}

void add_search(const OptionGroup& group, TuneOptions& options, Typed& typed) {
    TuneRequest& request = options.request;
    auto search = word_of("--search", {"bisect", "exhaustive", "evaluated"});
    search.old_spellings = {{"judged", "evaluated"}};
    group.parsed("--budget", request.budget_seconds, "150s", budget_of("--budget"),
                 "Time limit including validation; with --launches, for each launch; with "
                 "--library, for everything (default there: 10m)");
    group.parsed("--search", typed.search, "bisect", search,
                 "Search: bisect, exhaustive (every variant at every size) or evaluated (bisect, "
                 "then exhaustive to evaluate it; see scripts/check_tuning)");
    group
        .number("--repetitions", typed.repetitions, 1, 100'000,
                "Repetitions of each variant in an exhaustive search")
        ->capture_default_str();
    group.parsed("--hysteresis", request.search.hysteresis, "3%", target_of("--hysteresis"),
                 "Merge adjacent sizes if one choice costs at most this much more");
    group.parsed("--hold-out", typed.hold_out, "yes", word_of("--hold-out", {"yes", "no", "only"}),
                 "Validate each choice against the MPI library afterwards: yes, no, or only "
                 "(validate an existing table)");
    group.parsed("--model", options.model, "measure",
                 word_of("--model", {"measure", "stored", "none"}),
                 "Cost model: measure, stored (from an earlier run), or none");
    group.flag("--keep-anyway", options.keeps_anyway,
               "Keep the model for other commands although other programs used the cores");
    group.parsed("--sync", request.protocol.sync, "auto", parse_sync,
                 "Start of a call: deadline, barrier, row (many calls after one barrier) or auto");
    group.seed(request.protocol.seed, "Seed for candidate order and check data");
    add_rank_options(group, options.run);
    add_launches({group.app(), "Ranks"}, options.run);
}

void add_library(const OptionGroup& group, TuneOptions& options) {
    const OneOf<std::optional<ForeignLibrary>> library{"--library",
                                                       {{"openmpi", ForeignLibrary::open_mpi},
                                                        {"han", ForeignLibrary::open_mpi_han},
                                                        {"mpich", ForeignLibrary::mpich},
                                                        {"ucc", ForeignLibrary::ucc}}};
    group.parsed(
        "--library", options.library, "", library,
        "Library to tune: an MPI library (han: Open MPI's component for several hosts) or UCC. "
        "Writes a file with the choices that were faster than the default in fresh launches");
    group.text("--output", options.library_file,
               "File that --library writes: rules of Open MPI or HAN, MPICH's selection, or UCC's "
               "UCC_TL_UCP_TUNE (default: tutti-FORMAT.conf, see export --to)");
    group.text("--listen", options.listen,
               "With --library: address of this host at which the first ranks of the compared jobs "
               "connect; use one that all hosts reach if they may be on another host");
    group.flag("--commutative", options.exported.is_commutative,
               "With --library: all reduction operations of the programs commute. Also choose "
               "algorithms that require this");
}

void add_tables(const OptionGroup& group, TuneOptions& options, Typed& typed) {
    group.text("--table", options.table_file, "Tuning table to write");
    group.flag("--resume", options.resume, "Resume an interrupted search");
    group.flag("--model-only", typed.model_only,
               "Write a table from the cost model alone, for the rank counts of --for-ranks");
    group.parsed("--for-ranks", options.rank_counts, "", parse_rank_counts,
                 "Rank counts for --model-only: 8,16,64");
    group.number("--ranks-per-host", options.ranks_per_host, 1, 1 << 20,
                 "Ranks per host to assume with --model-only (default: all on one host)");
    group.list("--explain", typed.explain, "Print the choices of these tables and their reasons");
    group.text("--svg", options.svg_file, "SVG file for the decision maps of --explain");
    group.list("--merge", typed.merge, "Merge these tables into the file given by --table");
}

TuneOptions::Job job_of(const Typed& typed) {
    using Job = TuneOptions::Job;
    std::vector<Job> jobs;
    if (!typed.explain.empty()) jobs.push_back(Job::explain);
    if (!typed.merge.empty()) jobs.push_back(Job::merge);
    if (typed.model_only) jobs.push_back(Job::model_only);
    if (typed.hold_out == "only") jobs.push_back(Job::hold_out);
    if (jobs.size() > 1)
        throw Error("--explain, --merge, --model-only and --hold-out only are mutually exclusive");
    return jobs.empty() ? Job::tune : jobs.front();
}

void complete(TuneOptions& options, const Typed& typed) {
    TuneRequest& request = options.request;
    request.sizes = typed.range.sizes();
    std::erase_if(request.sizes, [](Bytes size) { return size.count == 0; });
    if (request.sizes.empty()) throw Error("no sizes to tune; use for example -b 8 -e 16M");
    for (const Collective collective : request.collectives)  // also throws for unknown names
        if (candidates(collective, request.search_space).empty())
            throw Error("no candidates selected; use --algo all or --baseline mpi");
    request.protocol.most_calls_of_batch =
        4;  // short batches: noise of the machine then hits all candidates
    request.protocol.warm_up_ns = 200'000;
    if (options.model != "none") {
        request.search.sample_share = 0.06;  // with the calibration of the model, still below 10 %
        request.search.model_factor =
            3;  // the model is accurate to about 15 % with a core for each rank
    }
    if (typed.search == "exhaustive") request.repetitions_of_all = typed.repetitions;
    if (typed.search == "evaluated") request.repetitions_of_evaluation = typed.repetitions;
    request.holds_out = typed.hold_out != "no";
}

// Sets what tuning a library means.
void complete_for_library(const CLI::App& app, TuneOptions& options, const Typed& typed) {
    for (const char* name :
         {"--algo", "--transport", "--baseline", "--buffers", "--model", "--resume", "--search",
          "--ranks", "--explain", "--merge", "--model-only"})
        if (app.count(name) > 0) throw Error(fmt::format("{} cannot be used with --library", name));
    // The launches of a search do not validate.
    const bool is_launch = app.count("--table") > 0 && app.count("--launcher") == 0;
    if (typed.hold_out == "only" || (typed.hold_out == "no" && !is_launch))
        throw Error(fmt::format(
            "--hold-out {} cannot be used with --library, which always compares", typed.hold_out));
    TuneRequest& request = options.request;
    if (request.types.size() > 1 || request.ops.size() > 1)
        throw Error(
            "the files of libraries do not distinguish types and operations; use one -d and one -o "
            "with --library");
    request.search_space.algorithms = {"none"};
    request.search_space.baselines = {fmt::format("{}/all", baseline_of(*options.library))};
    request.buffers = {BufferKind::unregistered};
    options.model = "none";
    if (app.count("--budget") == 0) request.budget_seconds = 600;
    if (app.count("--table") == 0) options.table_file.clear();
    if (typed.hold_out == "no") return;  // a rank of a launch
    if (app.count("--launches") == 0) options.run.launches = 3;
}

// Refuses options that would have no effect.
void refuse_idle(const CLI::App& app, const TuneOptions& options) {
    using Job = TuneOptions::Job;
    const TuneRequest& request = options.request;
    const bool predicts = options.job == Job::model_only;
    const struct {
        const char* option;
        bool has_effect;
        const char* remedy;
    } rules[] = {
        {"--svg", options.job == Job::explain, "works only with --explain; use --explain TABLE"},
        {"--for-ranks", predicts, "works only with --model-only"},
        {"--ranks-per-host", predicts, "works only with --model-only"},
        {"--output", options.library.has_value(), "works only with --library"},
        {"--commutative", options.library.has_value(), "works only with --library"},
        {"--listen", options.library.has_value(), "works only with --library"},
        {"--launches", options.measures(), "works only for jobs that measure"},
        {"--launcher", options.measures(), "works only for jobs that measure"},
        {"--resume", !options.run.starts_launches(), "cannot be used with --launches"},
        {"--search", request.repetitions_of_evaluation == 0 || !options.run.starts_launches(),
         "evaluated cannot be used with --launches"},
        {"--repetitions", request.repetitions_of_all + request.repetitions_of_evaluation > 0,
         "works only with --search exhaustive or evaluated"},
        {"--hold-out", !request.holds_out || options.has_library(),
         "needs a library to compare with; use --baseline mpi"},
    };
    for (const auto& [option, has_effect, remedy] : rules)
        if (app.count(option) > 0 && !has_effect) throw Error(fmt::format("{} {}", option, remedy));
}

}  // namespace

bool TuneOptions::has_library() const {
    return library_in(candidates(request.collectives.front(), request.search_space)) != nullptr;
}

std::optional<TuneOptions> parse_tune(const Arguments& arguments) {
    TuneOptions options;
    Typed typed;
    CLI::App app{
        "Finds the best configuration for each collective and size on these ranks, and writes a "
        "tuning table.",
        "tutti tune"};
    add_subjects({app, "Subjects"}, options.request, typed.range);
    add_trials({app, "Candidates"}, options.request.search_space);
    add_search({app, "Search"}, options, typed);
    add_tables({app, "Tables"}, options, typed);
    add_library({app, "Library"}, options);
    options.named.add_option({app, "Candidates"});
    if (parse_or_help(app, arguments)) return std::nullopt;
    set_plan(options.run, plan_of("tune", app, arguments));

    options.named.read({app, ""});
    options.job = job_of(typed);
    if (options.library) complete_for_library(app, options, typed);
    complete(options, typed);
    options.inputs = typed.explain.empty() ? typed.merge : typed.explain;
    if (options.job == TuneOptions::Job::model_only && options.rank_counts.empty())
        throw Error("--model-only requires rank counts; use for example --for-ranks 8,16,64");
    refuse_idle(app, options);
    return options;
}

}  // namespace tutti
