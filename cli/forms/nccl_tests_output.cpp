// SPDX-License-Identifier: Apache-2.0
// The table of nccl-tests in its exact format: one row per size, and no additional columns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.hpp"
#include "base/output.hpp"
#include "base/source.hpp"
#include "cli/forms/bench_output.hpp"
#include "cli/options/bench_options.hpp"
#include "results/records/identity.hpp"
#include "results/records/launch.hpp"
#include "results/tables/cautions.hpp"
#include "results/tables/text_table.hpp"

namespace tutti {
namespace {

// Statistics of the calls of a size as nccl-tests defines them: percentiles are measured times
// (nearest rank), and the standard deviation is divided by n. tutti's own records interpolate and
// divide by n - 1.
struct CallStatistics {
    std::int64_t p50_ns = 0, p95_ns = 0, p99_ns = 0;
    double mean_ns = 0, stdev_ns = 0;
    double cv_percent() const { return mean_ns > 0 ? 100 * stdev_ns / mean_ns : 0; }
};

// Returns zeros if there are no calls.
CallStatistics statistics_of_calls(std::span<const std::int64_t> times_ns) {
    if (times_ns.empty()) return {};
    std::vector<std::int64_t> sorted(times_ns.begin(), times_ns.end());
    std::ranges::sort(sorted);
    const auto n = static_cast<double>(sorted.size());
    const auto nearest_rank = [&](double percent) {
        return sorted[static_cast<std::size_t>(std::ceil(n * percent / 100)) - 1];
    };
    double sum = 0, squares = 0;
    for (const std::int64_t time : sorted) sum += static_cast<double>(time);
    for (const std::int64_t time : sorted)
        squares += std::pow(static_cast<double>(time) - sum / n, 2);
    return {sorted[sorted.size() / 2], nearest_rank(95), nearest_rank(99), sum / n,
            std::sqrt(squares / n)};
}

constexpr int most_files = 10'000;

// Creates a new empty file: FILE, FILE.0, FILE.1, ...
std::string new_file(const std::string& wanted) {
    for (int number = -1; number < most_files; ++number) {
        const std::string file = number < 0 ? wanted : fmt::format("{}.{}", wanted, number);
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> made(std::fopen(file.c_str(), "wx"),
                                                                   &std::fclose);
        if (made) return file;
        if (errno != EEXIST)
            throw Error(fmt::format("cannot write '{}': {}; use another file for -J", file,
                                    std::strerror(errno)));
    }
    throw Error("'" + wanted + "' exists " + std::to_string(most_files) +
                " times; use another file for -J");
}

// Converts "2026-11-23T20:15:00.123Z" to "2026-11-23 20:15:00" (UTC).
std::string without_zone(const std::string& time) {
    return time.size() < 19 ? time : time.substr(0, 10) + " " + time.substr(11, 8);
}

// The format has booleans as texts.
std::string said(bool is_so) { return is_so ? "true" : "false"; }

// Converts "2.28.9" to 22809.
Json nccl_version(const Launch& launch) {
    int major = 0, minor = 0, patch = 0;
    if (!launch.nccl ||
        std::sscanf(launch.nccl->version.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3)
        return {};
    return major * 10'000 + minor * 100 + patch;
}

// Drops a zero fraction: readers may expect whole numbers.
Json number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json config(const BenchOptions& options, const Launch& launch, bool per_iteration) {
    const auto& protocol = options.sweep.protocol;
    const TextByName& asked = options.run.plan.values;
    Json json{{"nthreads", options.run.ranks.threads.value_or(1)},
              {"ngpus", 1},
              {"minimum_bytes", parse_bytes(asked.at("minbytes")).count},
              {"maximum_bytes", parse_bytes(asked.at("maxbytes")).count}};
    if (const std::string& step = asked.at("stepbytes"); !step.empty())
        json["step_bytes"] = parse_bytes(step).count;
    else
        json["step_factor"] = number(std::stod(asked.at("stepfactor")));
    json["warmup_iters"] = protocol.warm_up_calls;
    json["iterations"] = protocol.fixed_samples;  // 0: as many as the interval needs
    json["aggregated_iterations"] = 1;
    json["validation"] = options.sweep.check ? 1 : 0;
    json["graph"] = options.runs_on_devices > 1 ? options.runs_on_devices : 0;
    json["blocking_collectives"] = said(protocol.sync == Protocol::Sync::barrier);
    json["per_iter_timing"] = said(per_iteration);
    json["per_iter_skip"] = 0;
    json["parallel_init"] = said(false);
    json["devices"] = Json::array();
    for (const RankPlace& place : launch.ranks)
        json["devices"].push_back({{"rank", place.rank.index},
                                   {"group", 0},
                                   {"pid", place.pid},
                                   {"hostname", place.host},
                                   {"device", place.rank.index % std::max(launch.ppn, 1)},
                                   {"device_hex", place.gpu_uuid},
                                   {"device_info", "cores " + place.cpuset}});
    return json;
}

Json placement(const Point* point) {
    if (point == nullptr) return {};
    const Check& check = point->measured.check;
    return {{"time", static_cast<double>(point->time.p50) / 1000},
            {"alg_bw", point->bandwidth.algbw},
            {"bus_bw", point->bandwidth.busbw},
            {"nwrong", check.state == CheckState::skipped ? Json() : Json(check.n_wrong)}};
}

Json iterations(const Point& point) {
    const auto us = [](auto ns) { return static_cast<double>(ns) / 1000; };
    const Summary& time = point.time;
    const CallStatistics calls = statistics_of_calls(point.measured.samples);
    Json samples = Json::array();
    for (const std::int64_t sample : point.measured.samples) samples.push_back(us(sample));
    return {{"skipped_iterations", 0},      {"min_us", us(time.min)},
            {"max_us", us(time.max)},       {"avg_us", us(calls.mean_ns)},
            {"p50_us", us(calls.p50_ns)},   {"p95_us", us(calls.p95_ns)},
            {"p99_us", us(calls.p99_ns)},   {"stdev_us", us(calls.stdev_ns)},
            {"cv_pct", calls.cv_percent()}, {"times_us", std::move(samples)}};
}

// The file of nccl-tests' -J (version 3): the same fields in the same order.
class NcclTestsJson {
public:
    // Creates FILE, or FILE.0, FILE.1, ... if it exists. Throws Error if it cannot be written.
    NcclTestsJson(const BenchOptions& options, const Launch& launch, bool per_iteration)
        : file_(new_file(options.output_file)), per_iteration_(per_iteration) {
        json_ = {{"version", 3}, {"start_time", without_zone(launch.t)}, {"args", Json::array()}};
        json_["args"].push_back("tutti");
        json_["args"].push_back(options.run.plan.command);
        for (const std::string& word : options.run.plan.typed) json_["args"].push_back(word);
        json_["env"] = Json::array();
        for (const auto& [name, value] : launch.env) json_["env"].push_back(name + "=" + value);
        json_["nccl_version"] = nccl_version(launch);
        json_["config"] = config(options, launch, per_iteration);
        json_["results"] = Json::array();
    }

    const std::string& file() const { return file_; }
    void add(const TableRow& row) {
        const Point* out = measured_or_none(row.out_of_place);
        const Point* in = measured_or_none(row.in_place);
        const Point* known = out != nullptr ? out : in;
        if (known == nullptr) return;
        const Key& key = known->key;
        Json json{{"size", key.bytes.count},
                  {"count", key.count},
                  {"type", name_of(key.dtype)},
                  {"redop", key.op ? name_of(*key.op) : "none"},
                  {"root", std::to_string(key.root ? key.root->index : -1)},
                  {"out_of_place", placement(out)}};
        if (per_iteration_ && out != nullptr) json["out_of_place_per_iter"] = iterations(*out);
        json["in_place"] = placement(in);
        if (per_iteration_ && in != nullptr) json["in_place_per_iter"] = iterations(*in);
        json["actual_iterations"] = known->time.n;
        json["experiment_name"] = "";
        json_["results"].push_back(std::move(json));
    }

    // Writes the whole file; `okay` tells whether the average bus bandwidth reached the required
    // one, if any.
    void end(const TableTotals& totals, std::optional<bool> okay) {
        json_["out_of_bounds"] = {{"count", totals.wrong}, {"okay", said(totals.is_right)}};
        json_["average_bus_bandwidth"] = {{"bandwidth", totals.busbw},
                                          {"okay", okay ? said(*okay) : "unchecked"}};
        json_["end_time"] = without_zone(utc_now());
        json_["errors"] = Json::array();
        write_file(file_, one_line(json_) + "\n", "-J");
    }

private:
    std::string file_;
    bool per_iteration_;
    Json json_;
};

// Share of NCCL_TESTS_MIN_BW that passes.
constexpr double enough = 0.9;

std::optional<double> least_bandwidth() {
    const char* text = std::getenv("NCCL_TESTS_MIN_BW");
    if (text == nullptr) return std::nullopt;
    const auto least = real_number(text);
    if (!least)
        throw Error(fmt::format(
            "NCCL_TESTS_MIN_BW={} is not a number; use GB/s, such as NCCL_TESTS_MIN_BW=12.5",
            text));
    return *least;
}

std::string per_iteration_cells(const Point* point) {
    if (point == nullptr)
        return fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "N/A", "N/A", "N/A", "N/A");
    const Summary& time = point->time;
    const CallStatistics calls = statistics_of_calls(point->measured.samples);
    const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
    return fmt::format("  {:>7.2f}  {:>7.2f}  {:>7.2f}  {:>7.2f}", us(time.min), us(time.max),
                       us(calls.p99_ns), calls.cv_percent());
}

class OutputLikeNcclTests final : public BenchOutput {
public:
    OutputLikeNcclTests(const BenchOptions& options, bool per_iteration)
        : options_(options), per_iteration_(per_iteration), least_(least_bandwidth()) {
        if (options.sweep.buffers.size() > 1)
            throw Error("nccl-tests' table has one row per size; use one kind for --buffers");
    }

    std::string begin(const Launch& launch, std::span<const std::string> notes,
                      std::size_t candidates) override {
        std::string text;
        for (const std::string& note : notes) text += "# " + note + '\n';
        if (candidates > 1)
            text += fmt::format(
                "# {} candidates: each row shows the fastest at its size; --json stores all\n",
                candidates);
        if (!options_.output_file.empty()) {
            json_.emplace(options_, launch, per_iteration_);
            text += "# Writing JSON output to " + json_->file() + '\n';
        }
        text += "#\n# Using devices\n";
        for (const RankPlace& place : launch.ranks)
            text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} {}\n", place.rank.index,
                                place.pid, place.host,
                                place.gpu_uuid.empty() ? "cores " + place.cpuset : place.gpu_uuid);
        return text + "#\n" + header();
    }

    std::string rows(std::span<const Point> points, const Fastest& fastest) override {
        const TableRow row = row_of_fastest(points, fastest);
        skips_ += skips_of(row);
        const Point* out = measured_or_none(row.out_of_place);
        const Point* in = measured_or_none(row.in_place);
        if (out == nullptr && in == nullptr) return "";
        if (json_) json_->add(row);
        std::string text = key_cells((out != nullptr ? out : in)->key);
        for (const Point* point : {out, in}) {
            text += placement_cells(point);
            if (per_iteration_) text += per_iteration_cells(point);
            if (point == nullptr) continue;
            shown_.push_back(*point);
            shown_.back().measured.samples.clear();
        }
        return text + '\n';
    }

    std::string end(std::span<const Point>, const Results& launches) override {
        const TableTotals totals = totals_of(shown_);
        if (least_) reached_ = totals.busbw >= enough * *least_;
        if (json_) json_->end(totals, reached_);
        const char* verdict = !reached_ ? "" : *reached_ ? " OK" : " FAILED";
        return totals_in_words(totals) + verdict + "\n#\n" + skips_ +
               cautions_below(launches.launches, launches.ends);
    }

    Exit code() const override { return reached_.value_or(true) ? Exit::ok : Exit::regression; }

private:
    std::string header() const {
        const auto line = [&](std::string_view size, std::string_view count, std::string_view type,
                              std::string_view redop, std::string_view root,
                              const std::string& placement) {
            return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", size, count, type,
                               redop, root, placement, placement);
        };
        const auto cells = [&](std::array<const char*, 4> columns,
                               std::array<const char*, 4> more) {
            std::string text = fmt::format("  {:>7}", columns[0]);
            for (std::size_t i = 1; i < columns.size(); ++i)
                text += fmt::format("  {:>6}", columns[i]);
            for (const char* column : more)
                if (per_iteration_) text += fmt::format("  {:>7}", column);
            return text;
        };
        const std::string side = per_iteration_ ? " (+ per-iteration)" : "";
        return fmt::format("# {:50}{:11}out-of-place{}{:{}}in-place{}\n", "", "", side, "",
                           per_iteration_ ? 41 : 23, side) +
               line("size", "count", "type", "redop", "root",
                    cells({"time", "algbw", "busbw", "#wrong"},
                          {"i_min", "i_max", "i_p99", "i_cv%"})) +
               line("(B)", "(elements)", "", "", "",
                    cells({"(us)", "(GB/s)", "(GB/s)", ""}, {"(us)", "(us)", "(us)", "(%)"}));
    }

    const BenchOptions& options_;
    bool per_iteration_;
    std::optional<double> least_;
    std::optional<bool> reached_;
    std::optional<NcclTestsJson> json_;
    std::vector<Point> shown_;
    std::string skips_;
};

}  // namespace

std::unique_ptr<BenchOutput> output_like_nccl_tests(const BenchOptions& options,
                                                    std::span<const std::string> details) {
    for (const std::string& detail : details)
        if (detail != "per-iteration")
            throw Error("--like nccl-tests," + detail +
                        " is unknown; use --like nccl-tests or --like nccl-tests,per-iteration");
    return std::make_unique<OutputLikeNcclTests>(options, !details.empty());
}

}  // namespace tutti
