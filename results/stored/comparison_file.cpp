// SPDX-License-Identifier: Apache-2.0
#include "results/stored/comparison_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "results/stored/by_launch.hpp"

namespace tutti {

ComparisonFile::ComparisonFile(const std::string& file, Session session, const Launch& launch)
    : session_(std::move(session)) {
    if (file.empty()) return;
    store_.emplace(file);
    store_->append(session_);
    store_->append(launch);
}

template <class Records>
void ComparisonFile::append_all(Records records) {
    std::string lines;
    for (auto& record : records) {
        record.session = session_.id;
        if (!lines.empty()) lines += '\n';  // GCC 12 warns about "\n" + text
        lines += to_json_line(record);
    }
    if (store_ && !lines.empty()) store_->append(std::string_view(lines));
}

void ComparisonFile::append(const std::vector<Pair>& pairs) { append_all(pairs); }

void ComparisonFile::append(const StagedLaunch& launch) {
    std::vector<Pair> pairs;
    for (const std::string& metric : launch.seen.order)
        if (const auto found = launch.seen.metrics.find(metric); found != launch.seen.metrics.end())
            pairs.push_back({.launch = launch.number,
                             .stage = launch.stage,
                             .metric = metric,
                             .seen = found->second});
    append(pairs);
    ++launches_;
}

void ComparisonFile::end(const ComparisonRecords& records) {
    if (!store_) return;
    append_all(records.verdicts);
    append_all(records.floors);
    append_all(records.growth);
    std::vector<Fail> wrong;
    for (const std::string& text : records.wrong)
        wrong.push_back({.phase = "compare", .what = "check", .stderr_tail = text});
    append_all(wrong);
    store_->append(
        End{.session = session_.id, .ok = records.wrong.empty(), .wall_ns = records.wall_ns});
}

std::string ComparisonFile::kept_text() const {
    if (!store_) return "nothing was stored; use --json FILE to be able to resume";
    const std::string file = store_->path();
    return fmt::format(
        "{} are in '{}'; resume with the same command and --resume {} instead of --json",
        launches_ == 1 ? "the pairs of 1 launch"
                       : fmt::format("the pairs of {} launches", launches_),
        file, file);
}

std::vector<ComparisonRecords> comparisons_in(const Results& results) {
    const auto first = first_parts(results.sessions);
    std::vector<ComparisonRecords> all;
    for (const Session& session : results.sessions) {
        if (session.argv.size() < 2 || session.argv[1] != "compare") continue;
        const bool goes_on = std::ranges::any_of(
            results.sessions, [&](const Session& one) { return one.resume_of == session.id; });
        if (goes_on) continue;
        ComparisonRecords& records = all.emplace_back();
        records.session = session;
        const auto is_of_it = [&](const auto& record) {
            const auto part = first.find(record.session);
            return part != first.end() && part->second == first.at(session.id);
        };
        std::ranges::copy_if(results.verdicts, std::back_inserter(records.verdicts), is_of_it);
        std::ranges::copy_if(results.step_growth, std::back_inserter(records.growth), is_of_it);
        std::ranges::copy_if(results.floors, std::back_inserter(records.floors), is_of_it);
        // Keeps only pairs of the stage that decided.
        const auto has_decided = [&](const Pair& pair) {
            return is_of_it(pair) && std::ranges::any_of(records.verdicts, [&](const auto& one) {
                       return one.metric == pair.metric && one.stage == pair.stage;
                   });
        };
        std::ranges::copy_if(results.pairs, std::back_inserter(records.pairs), has_decided);
        for (const End& end : results.ends)
            if (is_of_it(end)) records.wall_ns += end.wall_ns;
        for (const Fail& fail : results.fails)
            if (is_of_it(fail) && fail.what == "check") records.wrong.push_back(fail.stderr_tail);
    }
    return all;
}

ComparisonRecords stored_comparison(const std::string& file) {
    const Results results = read_results(std::filesystem::path(file));
    auto all = comparisons_in(results);
    if (all.empty())
        throw Error("'" + file +
                    "' contains no comparison; use a file that 'tutti compare --json' wrote");
    const ComparisonRecords& last = all.back();
    if (last.verdicts.empty() &&
        std::ranges::find(results.ends, last.session.id, &End::session) == results.ends.end())
        throw Error(fmt::format(
            "the last comparison in '{}' is incomplete; repeat its command with --resume {}", file,
            file));
    all.back().file = file;
    return std::move(all.back());
}

std::vector<StagedLaunch> launches_of(const std::vector<Pair>& pairs) {
    std::vector<StagedLaunch> launches;
    for (const Pair& pair : pairs) {
        if (launches.empty() || launches.back().stage != pair.stage ||
            launches.back().number != pair.launch)
            launches.push_back({pair.stage, pair.launch, {}});
        launches.back().seen.metrics.emplace(pair.metric, pair.seen);
        launches.back().seen.order.push_back(pair.metric);
    }
    return launches;
}

}  // namespace tutti
