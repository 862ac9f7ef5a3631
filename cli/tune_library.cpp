// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "autotune/table/range_text.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "autotune/tuner/agreement.hpp"
#include "autotune/tuner/hold_out.hpp"
#include "autotune/tuner/table_writer.hpp"
#include "base/clock.hpp"
#include "base/output.hpp"
#include "cli/build_info.hpp"
#include "cli/check_rules.hpp"
#include "cli/compare/launches.hpp"
#include "cli/jobs/job.hpp"
#include "cli/launches.hpp"
#include "cli/progress/progress_bar.hpp"
#include "cli/ranks/interruption.hpp"
#include "cli/tune_tables.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {
namespace {

using Compared = std::vector<ComparedSize>;

// Returns a job of the library with these variables of the file, or with none.
Command bench_command(const TuneOptions& options, const Arguments& words,
                      const std::map<std::string, std::string>& variables) {
    Command command = job_command(options.run.launcher, this_program(), words);
    command.environment = environment_of_twins();
    command.environment.insert(variables.begin(), variables.end());
    return command;
}

// Combines the launches that have a metric. A had no file and B had it.
ComparedSize seen_in(std::span<const StagedLaunch> launches, const std::string& metric,
                     Collective collective, std::string_view baseline) {
    ComparedSize compared{.collective = collective, .seen = {.library = std::string(baseline)}};
    std::string name, size;
    std::istringstream(metric) >> name >> size;
    compared.size = parse_bytes(size);
    HoldOut& seen = compared.seen;
    std::vector<double> tuned, own, gains;
    for (const StagedLaunch& launch : launches) {
        const auto found = launch.seen.metrics.find(metric);
        if (found == launch.seen.metrics.end()) continue;
        tuned.push_back(found->second.b_ns);
        own.push_back(found->second.a_ns);
        gains.push_back(std::exp(-found->second.change));
        compared.gains[launch.number] = gains.back();
    }
    seen.choice = interval_of(tuned);
    seen.default_ = interval_of(own);
    set_gain(seen, gains);
    if (std::ssize(gains) < fewest_pairs) {  // neither a gain nor a loss
        seen.gain_low = std::min(seen.gain_low, 1.0);
        seen.gain_high = std::max(seen.gain_high, 1.0);
    }
    return compared;
}

// Names the algorithm that a file's rules give to a call.
std::string choice_in(const Export& exported, const JobShape& shape, const ComparedSize& call) {
    for (const ExportedCell& cell : exported.cells)
        if (cell.job_shape == shape && cell.collective == call.collective)
            for (const ExportedRule& rule : named_rules(cell))
                if (rule.from <= call.size && call.size < rule.end)
                    return to_string(
                        Configuration{.impl = std::string(baseline_of(exported.format->library)),
                                      .algorithm = std::string(rule.algorithm->baseline),
                                      .segment = rule.segment,
                                      .radix = rule.fan_out});
    return "default";
}

// Throws Error if the environment changes the default that the file is compared with.
void expect_own_default(const std::map<std::string, std::string>& of_file) {
    for (const auto& [name, value] : environment_of_process())
        if (of_file.contains(name) || name.starts_with("OMPI_MCA_coll_tuned_") ||
            name.starts_with("OMPI_MCA_coll_han_") ||
            (name.starts_with("UCC_") && name.ends_with("_TUNE")) ||
            (name.starts_with("MPIR_CVAR_") &&
             (name.ends_with("_ALGORITHM") || name.find("COLL") != name.npos)))
            throw Error(fmt::format(
                "the environment sets {}, which may change the default that is compared; unset it",
                name));
}

std::string running_library(ForeignLibrary library) {
    return library == ForeignLibrary::ucc ? ucc_library() : mpi_library();
}

// Explains why a comparison has no result.
std::string reasons_in(const ComparisonResult& result) {
    std::set<std::string> reasons;
    for (const auto& [metric, why] : result.missing) reasons.insert(why);
    return result.launches == 0 ? "no launch ended" : fmt::format("{}", fmt::join(reasons, ", "));
}

class LibraryTuning {
public:
    explicit LibraryTuning(const TuneOptions& options)
        : options_(options), format_(format_of_library(*options.library)) {
        if (options_.library_file.empty())
            options_.library_file = fmt::format("tutti-{}.conf", format_.name);
        file_ = std::filesystem::absolute(options_.library_file).lexically_normal().string();
        if (options_.table_file.empty()) options_.table_file = options_.library_file + ".json";
        unproved_ = options_.table_file + ".unproved";
        expect_own_default(environment_of(format_, file_));
        if (format_.library == ForeignLibrary::mpich)
            options_.exported.base = mpich_selection_of(file_of_mpi_library());
    }

    Exit run() {
        search();
        if (!tuned().empty()) {
            expect_obedience();
            take_out(compared(2), Needed::gain);
            if (Table tried = with_choices_of_neighbours(table_);
                tried.sections != table_.sections) {
                table_ = std::move(tried);
                expect_obedience();
            }
        }
        if (!tuned().empty()) prove();
        write();
        remove_working_files();
        return Exit::ok;
    }

private:
    double seconds_left() const {
        return options_.request.budget_seconds - seconds_since(began_ns_);
    }

    void search() {
        constexpr double share = 1.0 / 3;  // the two comparisons take the rest
        TuneOptions search = options_;
        search.table_file = unproved_;
        remove_working_files();
        search.run.plan.set("budget",
                            fmt::format("{:.1f}s", share * seconds_left() / options_.run.launches));
        SearchedTable searched = search_in_launches(search);
        if (searched.any_wrong)
            throw Error("results of the library are wrong (see above); its file is not written",
                        Exit::wrong_result);
        if (searched.found.sections.empty())
            throw Error("time budget too small to tune anything; raise --budget");
        shape_ = searched.found.sections.front().job_shape;
        table_ = std::move(searched.found);
        export_of(with_earlier(), format_, options_.exported);  // throws before the comparisons
        fmt::print("# tutti {}\n# {} on {}; {} launches\n", version(),
                   running_library(format_.library), to_string(shape_), options_.run.launches);
    }

    // Compares the file as it would be written now, and takes out choices whose gain is small or
    // uncertain.
    void prove() {
        const Compared proof = compared(1);
        const Export before = exported();
        take_out(proof, Needed::gain_again);
        print(proof, before, exported());
    }

    // Returns the choices of this run with those of earlier runs for other calls.
    Table with_earlier() const { return replaced_in(table_in(options_.table_file), table_); }

    void write() const {
        const Table all = with_earlier();
        const Export now = export_of(all, format_, options_.exported);
        const bool has_rules = std::ranges::any_of(
            now.cells, [](const ExportedCell& cell) { return !named_rules(cell).empty(); });
        const bool is_there = std::filesystem::exists(file_);
        // The next run reads this table, so it must not keep the choices that were replaced.
        if (has_rules || std::filesystem::exists(options_.table_file))
            keep_table(all, options_.table_file);
        if (tuned().empty())
            fmt::print("# no choice is faster than the default; {} {}\n", options_.library_file,
                       has_rules  ? "keeps the choices for other calls"
                       : is_there ? "holds older choices; remove it"
                                  : "is not written");
        if (!has_rules) return;
        replace_file(file_, text_of(now, file_), "the library's file");
        fmt::print("# table: {0} (tutti tune --explain {0})\n{1}", options_.table_file,
                   head_of(now, file_));
    }

    void remove_working_files() const {
        std::error_code none;  // a file that stays does no harm
        for (const char* ending : {"", ".rules", ".launches"})
            std::filesystem::remove_all(unproved_ + ending, none);
    }

    // Returns the choices that this run has found.
    Export exported() const { return export_of(table_, format_, options_.exported); }

    // Returns the collectives that have rules for these ranks.
    std::vector<Collective> tuned() const {
        std::vector<Collective> collectives;
        for (const ExportedCell& cell : exported().cells)
            if (cell.job_shape == shape_ && !named_rules(cell).empty())
                collectives.push_back(cell.collective);
        return collectives;
    }

    void expect_obedience() const {
        if (format_.proof == ExportFormat::Proof::none) {
            fmt::print("# not checked: whether the library obeys the file\n");
            return;
        }
        RunPlan plan{.command = "export", .given = {}, .values = {}, .typed = {}};
        keep_table(table_, unproved_);
        plan.given = {{"table", {unproved_}, GivenOption::Kind::positional},
                      {"to", {std::string(format_.name)}}};
        if (options_.exported.is_commutative)
            plan.given.push_back({"commutative", {}, GivenOption::Kind::flag});
        const RulesCheck check = check_rules(exported(), options_.run.launcher, plan);
        if (!check.is_obeyed)
            throw Error(fmt::format("the library does not obey the file:\n{}", check.text),
                        Exit::regression);
    }

    // Compares jobs without and with the file in fresh launches, for the collectives that have
    // rules. Uses an equal share of the remaining time for this and each of the later
    // `comparisons`.
    Compared compared(int comparisons) const {
        const std::string path = std::filesystem::absolute(unproved_ + ".rules").string();
        replace_file(path, text_of(exported(), path), "the rules");
        const std::vector<Collective> wanted = tuned();
        double seconds = seconds_left() / comparisons;
        Compared all;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const std::int64_t began = now_ns();
            const auto some =
                compared(wanted[i], path, seconds / static_cast<double>(wanted.size() - i));
            all.insert(all.end(), some.begin(), some.end());
            seconds -= seconds_since(began);
        }
        return all;
    }

    Compared compared(Collective collective, const std::string& path, double seconds) const {
        const TextByName& given = options_.run.plan.values;
        Arguments words{"bench",      std::string(name_of(collective)),
                        "--algo",     "none",
                        "--baseline", std::string(baseline_),
                        "--buffers",  "unregistered",
                        "--inplace",  "no",
                        "--limits",   "none"};
        for (const char* name : {"minbytes", "maxbytes", "stepfactor", "datatype", "op"})
            words.insert(words.end(), {fmt::format("--{}", name), given.at(name)});
        // Launches differ by more than the quads of one do, so a larger number of short ones is
        // best.
        constexpr int quads = 4, most_pairs = 40;
        const TwinJobs jobs{.a = bench_command(options_, words, {}),
                            .b = bench_command(options_, words, environment_of(format_, path)),
                            .listen = options_.listen,
                            .quads = quads};
        std::vector<StagedLaunch> launches;
        const ComparisonEvents events{
            .progress =
                [&](const std::string& text) {
                    show_on_last_line(fmt::format("{}: {}", name_of(collective), text));
                },
            .after_launch = [&](const StagedLaunch& launch) { launches.push_back(launch); }};
        const ComparisonResult result = compare(
            jobs, {.budget_seconds = seconds, .first_launches = most_pairs, .most_launches = 0},
            events);
        show_on_last_line("");
        if (!result.wrong.empty())
            throw Error(fmt::format("{}", fmt::join(result.wrong, "\n")), Exit::wrong_result);
        if (result.metrics.empty())
            throw Error(fmt::format("{}: nothing was compared ({}); use a larger --budget",
                                    name_of(collective), reasons_in(result)));
        if (std::ssize(launches) < fewest_pairs)
            fmt::print(stderr,
                       "tutti: {}: only {} of the {} pairs of jobs that a choice needs fit into "
                       "the budget, so all sizes keep the default; use a larger --budget, or fewer "
                       "collectives and sizes\n",
                       name_of(collective), launches.size(), fewest_pairs);
        Compared all;
        for (const MetricResult& metric : result.metrics)
            all.push_back(seen_in(launches, metric.metric.name, collective, baseline_));
        return all;
    }

    void take_out(const Compared& all, Needed needed) {
        table_ = held_out(table_, shape_, baseline_, all, needed);
    }

    static void print(const ComparedSize& one, const std::string& before, const std::string& now) {
        const HoldOut& seen = one.seen;
        fmt::print("{:<15}{:>9}{:>12.2f}{:>12.2f}   {:.3f} [{:.3f}, {:.3f}]   {}{}\n",
                   name_of(one.collective), to_string(one.size), seen.default_.p50 / 1e3,
                   seen.choice.p50 / 1e3, 1 / seen.gain, 1 / seen.gain_high, 1 / seen.gain_low,
                   before,
                   before != now        ? " (taken out)"
                   : seen.gain_high < 1 ? " (slower)"
                                        : "");
    }

    // Prints the last comparison. Without a rule, a collective has the default's times.
    void print(const Compared& proof, const Export& before, const Export& now) const {
        fmt::print("# {:<13}{:>9}{:>12}{:>12}   {}\n", "collective", "size", "default us",
                   "tuned us", "tuned / default [95 %]   choice");
        std::map<Collective, std::vector<double>> logs;
        const std::vector<Collective> in_force = tuned();
        for (const ComparedSize& one : proof) {
            const std::string was = choice_in(before, shape_, one),
                              is = choice_in(now, shape_, one);
            print(one, was, is);
            const bool is_in_force = was == is && std::ranges::count(in_force, one.collective) > 0;
            logs[one.collective].push_back(is_in_force ? -std::log(one.seen.gain) : 0);
        }
        for (const Collective collective : options_.request.collectives) {
            const auto found = logs.find(collective);
            if (found == logs.end()) {
                fmt::print("# {}: the default at all sizes\n", name_of(collective));
                continue;
            }
            double sum = 0;
            for (const double one : found->second) sum += one;
            fmt::print("# {}: {:.3f} of the default's time (geometric mean of {} sizes)\n",
                       name_of(collective),
                       std::exp(sum / static_cast<double>(found->second.size())),
                       found->second.size());
        }
    }

    TuneOptions options_;
    const ExportFormat& format_;
    std::string_view baseline_ = baseline_of(format_.library);
    std::string file_;      // absolute
    std::string unproved_;  // the table until its choices are proved
    std::int64_t began_ns_ = now_ns();
    Table table_;  // found by this run
    JobShape shape_;
};

}  // namespace

const ExportFormat& format_of_library(ForeignLibrary library) {
    const std::string running = running_library(library);
    const auto digit = std::min(running.find_first_of("0123456789"), running.size());
    const int version = std::atoi(running.c_str() + digit);
    std::vector<std::string> known;
    for (const ExportFormat& format : export_formats()) {
        if (format.library != library) continue;
        if (running.starts_with(format.running) && version >= format.version) return format;
        known.push_back(format.running.ends_with('.') ? fmt::format("{}x", format.running)
                        : format.version > 0 ? fmt::format("{}{}", format.running, format.version)
                                             : std::string(format.running));
    }
    throw Error(fmt::format("--library: this tutti runs on {}; use a build for {}", running,
                            fmt::join(known, ", ")));
}

Exit tune_library(const TuneOptions& options) {
    if (options.run.launcher.empty())
        throw Error("--library requires --launcher, for example 'mpirun -n 2'");
    expect_launches(options.run);
    end_on_signals();
    announce_kept("the library's file is not written yet");
    return LibraryTuning(options).run();
}

}  // namespace tutti
