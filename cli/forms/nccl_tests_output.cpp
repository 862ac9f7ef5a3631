// SPDX-License-Identifier: Apache-2.0
// The table of nccl-tests, to the character: one row a size, and nothing behind its columns.
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/source.hpp"
#include "cli/forms/bench_output.hpp"
#include "cli/forms/call_statistics.hpp"
#include "cli/forms/nccl_tests_json.hpp"
#include "cli/forms/one_row.hpp"
#include "results/tables/cautions.hpp"

namespace tutti {
namespace {

// Of what NCCL_TESTS_MIN_BW asks for, so much is enough.
constexpr double enough = 0.9;

std::optional<double> least_bandwidth() {
    const char* text = std::getenv("NCCL_TESTS_MIN_BW");
    if (text == nullptr) return std::nullopt;
    const auto least = real_number(text);
    if (!least)
        throw Error(fmt::format(
            "NCCL_TESTS_MIN_BW={} is no number; type GB/s, as NCCL_TESTS_MIN_BW=12.5", text));
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
            throw Error("nccl-tests' table has one row a size; name one kind behind --buffers");
    }

    std::string begin(const Launch& launch, std::span<const std::string> notes,
                      std::size_t candidates) override {
        std::string text;
        for (const std::string& note : notes) text += "# " + note + '\n';
        if (candidates > 1)
            text += fmt::format(
                "# {} candidates: a row is that of the fastest at its size; --json keeps all\n",
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

    std::string rows(std::span<const Point> points) override {
        const TableRow row = row_of_fastest(points);
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
                        " is unknown; type --like nccl-tests or --like nccl-tests,per-iteration");
    return std::make_unique<OutputLikeNcclTests>(options, !details.empty());
}

}  // namespace tutti
