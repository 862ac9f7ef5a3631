// SPDX-License-Identifier: Apache-2.0
// Translates the flags and defaults of the OSU micro-benchmarks (7.x) to options of 'tutti bench'.
// The output of the OSU micro-benchmarks (7.x): a blank line, the title, and one row per size, as
// their readers expect. The records contain the rest.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iostream>

#include "base/source.hpp"
#include "base/units.hpp"
#include "cli/forms/bench_output.hpp"
#include "cli/forms/other_suites.hpp"
#include "cli/options/values.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {

namespace {

constexpr auto no_value = Flag::Value::none;

constexpr Flag flags_of_osu[] = {
    {'m', "message-size", "Sizes in bytes, [MIN:]MAX [1:1048576]"},
    {'i', "iterations", "Number of timed calls (default: until the median is precise)", "-n"},
    {'x', "warmup", "Minimum number of warm-up calls", "-w"},
    {'f', "full", "Columns for the fastest and slowest call, and the number of calls", "", "",
     no_value},
    {'c', "validation", "Column that tells whether results were right; they are always checked", "",
     "", Flag::Value::attached},
    {'z', "tail-lat", "Columns for percentiles of the calls, -z50,90,99", "", "",
     Flag::Value::attached},
    {'T', "type", "Element type: mpi_char, mpi_int, mpi_float or mpi_double [mpi_char]"},
    {'l', "in-place", "Use one buffer for input and output", "", "", no_value},
    {'k', "root-rank", "Root rank, fixed:R [fixed:0]"},
    {'d', "accelerator", "cuda: buffers in GPU memory"},
    {'u', "validation-warmup", "checking is not timed"},
    {'M', "mem-limit", "memory is limited by -m"},
    {'G', "graph", "for figures use --json FILE, and then: tutti report FILE"},
    {'P', "papi", "hardware counters are not read"},
    {'D', "ddt", "data are contiguous"},
    {'I', "session", "MPI starts as usual", "", "", no_value},
    {'v', "version", "Print the version of tutti", "", "", no_value},
    {'h', "help", "Print this help", "", "", no_value},
};

/// The sizes of -m: from MIN to MAX, doubling.
struct SizesOfOsu {
    std::string first = "1", last = "1M";

    void read(const std::string& text) {
        const std::size_t colon = text.find(':');
        if (colon == std::string::npos) {
            last = text;
            return;
        }
        if (colon > 0) first = text.substr(0, colon);
        if (colon + 1 < text.size()) last = text.substr(colon + 1);
    }

    // Converts block sizes to element counts, as tutti's sizes are those of all blocks together.
    Arguments words(Collective collective, DataType type) const {
        if (!osu_counts_blocks(collective)) return {"-b", first, "-e", last, "-f", "2"};
        const SizeSweep sweep{.first = parse_bytes(first), .last = parse_bytes(last)};
        std::vector<std::int64_t> counts;
        for (const Bytes size : sweep.sizes())
            if (const auto count = size.count / static_cast<std::int64_t>(size_of(type)); count > 0)
                counts.push_back(count);
        if (counts.empty())
            throw Error(fmt::format("-m {} is less than one element; use a larger size", last));
        return {"--counts", fmt::format("{}", fmt::join(counts, ","))};
    }
};

DataType type_of_osu(const std::string& text) {
    std::string name;
    for (const char letter : text)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    for (const auto& [known, type] :
         {std::pair{"mpi_char", DataType::int8}, std::pair{"mpi_int", DataType::int32},
          std::pair{"mpi_float", DataType::float32}, std::pair{"mpi_double", DataType::float64}})
        if (name == known) return type;
    throw Error("-T " + text + ": unknown type; use -T mpi_char, mpi_int, mpi_float or mpi_double");
}

// Converts "50,90" to ",p50,p90".
std::string percentiles(const std::string& text) {
    std::string details;
    for (const std::string& one : split_list(text.empty() ? "50,90,99" : text)) {
        const bool has_letter = one.front() == 'p' || one.front() == 'P';
        details += ",p" + one.substr(has_letter ? 1 : 0);
    }
    return details;
}

std::string root_of(const std::string& text) {
    constexpr std::string_view fixed = "fixed:";
    if (!text.starts_with(fixed))
        throw Error("-k " + text + ": only a fixed root is supported; use -k fixed:0");
    return text.substr(fixed.size());
}

std::string title_of(const CollectiveForm& form) {
    const std::string v = form.has_lengths ? "v" : "";
    switch (form.collective) {
        case Collective::all_reduce:
            return "Allreduce";
        case Collective::reduce_scatter:
            return "Reduce_scatter";
        case Collective::all_gather:
            return "Allgather" + v;
        case Collective::broadcast:
            return "Broadcast";
        case Collective::reduce:
            return "Reduce";
        case Collective::scatter:
            return "Scatter" + v;
        case Collective::gather:
            return "Gather" + v;
        case Collective::all_to_all:
            return "All-to-All" + v + " Personalized Exchange";
        case Collective::barrier:
            return "Barrier";
        case Collective::scan:
            return "Scan";
        case Collective::exscan:
            return "Exscan";
        default:
            return name_of(form);
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
    bool size = true;  ///< a barrier has none
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
                        ": not available in OSU's format; use --json FILE.jsonl");
        if (options.sweep.buffers.size() > 1 || options.sweep.in_place.size() > 1)
            throw Error(
                "OSU's table has one row per size; use one kind for --buffers, and --inplace no or "
                "yes");
    }

    std::string begin(const Launch&, std::span<const std::string> notes, std::size_t) override {
        const auto& kinds = options_.sweep.buffers;
        const bool on_device = !kinds.empty() && kinds.front() == BufferKind::device;
        const std::string title =
            title_of({options_.sweep.collective, !options_.sweep.blocks.empty()});
        return fmt::format("\n# OSU MPI{} {} Latency Test by {}\n", on_device ? "-CUDA" : "", title,
                           notes.front());
    }

    std::string rows(std::span<const Point> points, const Fastest& fastest) override {
        const TableRow row = row_of_fastest(points, fastest);
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
        if (columns_.size) text += fmt::format("{:<10}", size);
        return text + cells(point) + '\n';
    }

    std::string end(std::span<const Point>, const Results&) override { return wrong_; }

private:
    std::string heading() const {
        std::string text = columns_.size
                               ? fmt::format("# Datatype: {}.\n{:<10}{:>20}", mpi_name_of(*type_),
                                             "# Size", "Avg Latency(us)")
                               : "# Avg Latency(us)";
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
        if (!columns_.size) text.erase(0, 3);  // the heading begins with "# "
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
        const auto& samples = point.measured.samples;  // may be empty for an earlier run
        for (const int percentile : columns_.percentiles)
            text += samples.empty() ? fmt::format("{:>20}", "N/A")
                                    : us(quantile_of(samples, percentile / 100.0));
        return text;
    }

    const BenchOptions& options_;
    ColumnsOfOsu columns_;
    std::optional<DataType> type_;  // type of the rows above
    std::string wrong_;
};

}  // namespace

std::optional<Arguments> words_of_osu(const ProgramName& program, const Arguments& words) {
    const std::string name(program.name);
    const Typed typed = read_flags(flags_of_osu, words, name);
    Arguments bench = bench_of(program, typed.others);
    SizesOfOsu sizes;
    DataType type = DataType::int8;
    std::string form = "osu", in_place = "no";
    for (const auto& [flag, value] : typed.flags) {
        switch (flag->letter) {
            case 'h':
                if (launcher().rank == 0)
                    std::cout << help_on(flags_of_osu, name, name_of(program.form));
                return std::nullopt;
            case 'v':
                return Arguments{"--version"};
            case 'm':
                sizes.read(value);
                break;
            case 'f':
                form += ",full";
                break;
            case 'c':
                form += ",validation";
                break;
            case 'z':
                form += percentiles(value);
                break;
            case 'T':
                type = type_of_osu(value);
                break;
            case 'l':
                in_place = "yes";
                break;
            case 'k':
                if (has_root(program.form.collective))
                    bench.insert(bench.end(), {"-r", root_of(value)});
                break;
            case 'd':
                if (value != "cuda") throw Error("-d " + value + " is unknown; use -d cuda");
                bench.insert(bench.end(), {"--buffers", "device"});
                break;
            default:
                translate(*flag, value, bench);
        }
    }
    const auto add = [&](const Arguments& more) {
        bench.insert(bench.end(), more.begin(), more.end());
    };
    if (has_buffers(program.form.collective)) {
        add(sizes.words(program.form.collective, type));
        add({"-d", std::string(name_of(type))});
    }
    add({"--inplace", in_place, "--like", form});
    add(typed.others);
    add_candidates(typed, bench);
    return bench;
}

std::unique_ptr<BenchOutput> output_like_osu(const BenchOptions& options,
                                             std::span<const std::string> details) {
    ColumnsOfOsu columns{.size = has_buffers(options.sweep.collective)};
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
                        " is unknown; use full, validation or percentiles, such as --like "
                        "osu,full,p50,p99");
    }
    return std::make_unique<OutputLikeOsu>(options, std::move(columns));
}

}  // namespace tutti
