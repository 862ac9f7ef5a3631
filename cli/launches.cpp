// SPDX-License-Identifier: Apache-2.0
#include "cli/launches.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "cli/jobs/job.hpp"
#include "cli/progress/progress_bar.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/interruption.hpp"
#include "results/records/store.hpp"

namespace tutti {
namespace {

// Options for the process that starts launches, which the launches do not get.
constexpr std::string_view own_options[] = {"launches", "launcher", "output_file",
                                            "output",   "csv",      "like"};
constexpr double longest_launch_seconds = 24 * 3600;

Command command_of(const NextLaunch& launch, const RunOptions& run) {
    RunPlan plan = run.plan;
    plan.erase(own_options);
    for (const auto& [name, value] : launch.own) plan.set(name, value);
    const auto before = static_cast<std::uint64_t>(launch.number - 1);
    plan.set("seed", std::to_string(launch.first_seed + before));
    Arguments words = plan.arguments();
    words.insert(words.begin(), plan.command);
    return job_command(run.launcher, this_program(), words);
}

std::set<std::string> sessions_in(const std::string& file) {
    std::set<std::string> sessions;
    std::error_code unreadable;
    if (std::filesystem::file_size(file, unreadable) == 0 || unreadable) return sessions;
    for (const Session& session : read_results(std::filesystem::path(file)).sessions)
        sessions.insert(session.id);
    return sessions;
}

}  // namespace

void expect_launches(const RunOptions& run) {
    if (launcher().is_there())
        throw Error(fmt::format(
            "--launches starts the ranks itself; run it without {0}, and use --launcher '{0} -n 2'",
            launcher().name));
    if (run.launcher.empty() && !run.ranks.threads)
        throw Error("--launches requires --launcher 'mpirun -n 2', or --ranks 2 for threads");
    if (!run.launcher.empty() && run.ranks.threads)
        throw Error("--ranks (threads) and --launcher (processes) are mutually exclusive");
    if (run.resumed) throw Error("--resume cannot be used with --launches");
}

std::string run_launch(const RunOptions& run, const NextLaunch& launch) {
    announce_kept(
        fmt::format("{} of {} launches are {}", launch.number - 1, run.launches, launch.kept));
    const std::string name = fmt::format("launch {} of {}", launch.number, run.launches);
    show_on_last_line(name);
    std::string about_wrong =
        run_job(command_of(launch, run), name, longest_launch_seconds, Exit::usage);
    show_on_last_line("");
    return about_wrong;
}

Results run_launches(const RunOptions& run, std::uint64_t seed) {
    expect_launches(run);
    const TemporaryFolder temporary;
    const std::string file = run.results_file().empty() ? temporary.file() : run.results_file();
    const std::set<std::string> earlier = sessions_in(file);
    end_on_signals();
    for (int number = 1; number <= run.launches; ++number) {
        // Wrong results are reported from the records.
        run_launch(run, {.number = number,
                         .first_seed = seed,
                         .own = {{"json", file}},
                         .kept = run.results_file().empty() ? "lost (use --json FILE)"
                                                            : "in '" + file + "'"});
        if (number == 1 && sessions_in(file) == earlier)
            throw Error("the first launch left no records in '" + file +
                        "', perhaps on another host: add --json FILE in a folder that all see");
    }
    Results results = read_results(std::filesystem::path(file));
    const auto is_earlier = [&](const auto& record) { return earlier.contains(record.session); };
    std::erase_if(results.launches, is_earlier);
    std::erase_if(results.ends, is_earlier);
    std::erase_if(results.points, is_earlier);
    std::erase_if(results.steps, is_earlier);
    return results;
}

std::vector<std::string> notes_of_launches(const Tool& tool, std::span<const Launch> launches) {
    return {describe(tool),
            fmt::format("{} launches of {} ranks, each with new processes; a time is the median of "
                        "the launches' medians, n is their number",
                        launches.size(), launches.empty() ? 0 : launches.front().nranks),
            launches.size() < 6
                ? "p50ci: the 95 % confidence interval across launches, from 6 launches on"
                : "p50ci: the 95 % confidence interval across launches"};
}

namespace {

template <class OverLaunches>
void keep(const RunOptions& run, std::uint64_t seed, std::vector<OverLaunches> records,
          auto OverLaunches::*measured, bool is_wrong) {
    if (run.results_file().empty()) return;
    const auto world = world_of_one();
    const Session session = describe_session(*world, run, seed);
    Store store(run.results_file());
    store.append(session);
    for (OverLaunches& one : records) {
        (one.*measured).session = session.id;
        store.append(one);
    }
    store.append(End{.session = session.id, .ok = !is_wrong});
}

}  // namespace

void keep_over_launches(const RunOptions& run, std::uint64_t seed,
                        std::vector<PointOverLaunches> points, bool is_wrong) {
    keep(run, seed, std::move(points), &PointOverLaunches::point, is_wrong);
}

void keep_over_launches(const RunOptions& run, std::uint64_t seed,
                        std::vector<StepOverLaunches> steps, bool is_wrong) {
    keep(run, seed, std::move(steps), &StepOverLaunches::step, is_wrong);
}

}  // namespace tutti
