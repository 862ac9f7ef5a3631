// SPDX-License-Identifier: Apache-2.0
// The output of the OSU micro-benchmarks (7.x): a blank line, the title, and one row a size.
// Nothing else, as their readers expect; what is known beyond that is in the records.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/source.hpp"
#include "cli/forms/bench_output.hpp"
#include "cli/forms/one_row.hpp"
#include "cli/forms/osu.hpp"

namespace tutti {
namespace {

std::string_view title_of(Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
            return "Allreduce";
        case Collective::reduce_scatter:
            return "Reduce_scatter";
        case Collective::all_gather:
            return "Allgather";
        case Collective::broadcast:
            return "Broadcast";
        case Collective::reduce:
            return "Reduce";
        case Collective::scatter:
            return "Scatter";
        case Collective::gather:
            return "Gather";
        default:
            return "All-to-All Personalized Exchange";
    }
}

std::string_view mpi_name_of(DataType type) {
    switch (type) {
        case DataType::int8:
            return "MPI_CHAR";
        case DataType::int32:
            return "MPI_INT";
        case DataType::float32:
            return "MPI_FLOAT";
        case DataType::float64:
            return "MPI_DOUBLE";
        default:
            return name_of(type);
    }
}

std::int64_t size_in_osu(const Key& key) {
    return osu_counts_blocks(key.coll) ? key.count * static_cast<std::int64_t>(size_of(key.dtype))
                                       : key.bytes.count;
}

struct ColumnsOfOsu {
    bool full = false;
    bool validation = false;
    std::vector<int> percentiles;
};

class OutputLikeOsu final : public BenchOutput {
public:
    OutputLikeOsu(const BenchOptions& options, ColumnsOfOsu columns)
        : options_(options), columns_(std::move(columns)) {
        if (!options.output_file.empty())
            throw Error("-J " + options.output_file +
                        ": OSU writes no such file; type --json FILE.jsonl");
        if (options.sweep.buffers.size() > 1 || options.sweep.in_place.size() > 1)
            throw Error(
                "OSU's table has one row a size; name one kind behind --buffers, and --inplace no "
                "or yes");
    }

    std::string begin(const Launch&, std::span<const std::string> notes, std::size_t) override {
        const auto& kinds = options_.sweep.buffers;
        const bool on_device = !kinds.empty() && kinds.front() == BufferKind::device;
        return fmt::format("\n# OSU MPI{} {} Latency Test by {}\n", on_device ? "-CUDA" : "",
                           title_of(options_.sweep.collective), notes.front());
    }

    std::string rows(std::span<const Point> points) override {
        const TableRow row = row_of_fastest(points);
        if (const std::string skips = skips_of(row); !skips.empty()) {
            fmt::print(stderr, "tutti: {}", skips.substr(2));
            return "";
        }
        const Point& point = row.out_of_place != nullptr ? *row.out_of_place : *row.in_place;
        const std::int64_t size = size_in_osu(point.key);
        if (is_wrong(point) && wrong_.empty())
            wrong_ = fmt::format("DATA VALIDATION ERROR: {} wrong elements at message size {}\n",
                                 point.measured.check.n_wrong, size);
        std::string text;
        if (type_ != point.key.dtype) {
            type_ = point.key.dtype;
            text = heading();
        }
        return text + fmt::format("{:<10}", size) + cells(point) + '\n';
    }

    std::string end(std::span<const Point>, const Results&) override { return wrong_; }

private:
    std::string heading() const {
        std::string text = fmt::format("# Datatype: {}.\n{:<10}{:>20}", mpi_name_of(*type_),
                                       "# Size", "Avg Latency(us)");
        if (columns_.full)
            text += fmt::format("{:>20}{:>20}{:>12}", "Min Latency(us)", "Max Latency(us)",
                                "Iterations");
        if (columns_.validation) text += fmt::format("{:>20}", "Validation");
        for (const int percentile : columns_.percentiles)
            text += fmt::format("{:>20}", fmt::format("P{} Tail Lat(us)", percentile));
        return text + '\n';
    }

    std::string cells(const Point& point) const {
        const auto us = [](auto ns) {
            return fmt::format("{:>20.2f}", static_cast<double>(ns) / 1000);
        };
        const Summary& time = point.time;
        std::string text = us(time.mean);
        if (columns_.full)
            text += us(time.min) + us(time.max) +
                    fmt::format("{:>12}",
                                static_cast<std::int64_t>(time.n) * point.measured.calls_of_sample);
        if (columns_.validation) {
            const CheckState state = point.measured.check.state;
            text += fmt::format("{:>20}", state == CheckState::ok     ? "Pass"
                                          : state == CheckState::fail ? "Fail"
                                                                      : "N/A");
        }
        const auto& samples = point.measured.samples;  // of an earlier run there may be none
        for (const int percentile : columns_.percentiles)
            text += samples.empty() ? fmt::format("{:>20}", "N/A")
                                    : us(quantile_of(samples, percentile / 100.0));
        return text;
    }

    const BenchOptions& options_;
    ColumnsOfOsu columns_;
    std::optional<DataType> type_;  // of the rows above
    std::string wrong_;
};

}  // namespace

std::unique_ptr<BenchOutput> output_like_osu(const BenchOptions& options,
                                             std::span<const std::string> details) {
    ColumnsOfOsu columns;
    for (const std::string& detail : details) {
        const auto percentile =
            detail.starts_with('p')
                ? decimal_number(std::string_view(detail).substr(1)).value_or(-1)
                : -1;
        if (detail == "full")
            columns.full = true;
        else if (detail == "validation")
            columns.validation = true;
        else if (percentile >= 0 && percentile <= 100)
            columns.percentiles.push_back(static_cast<int>(percentile));
        else
            throw Error("--like osu," + detail +
                        " is unknown; type full, validation or percentiles, as --like "
                        "osu,full,p50,p99");
    }
    return std::make_unique<OutputLikeOsu>(options, std::move(columns));
}

}  // namespace tutti
