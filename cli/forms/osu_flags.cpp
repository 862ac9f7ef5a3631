// SPDX-License-Identifier: Apache-2.0
// The flags and defaults of the OSU micro-benchmarks (7.x), as options of 'tutti bench'.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <iostream>

#include "base/units.hpp"
#include "cli/forms/flags.hpp"
#include "cli/forms/osu.hpp"
#include "cli/forms/program_name.hpp"
#include "cli/options/values.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

constexpr auto no_value = Flag::Value::none;

constexpr Flag flags_of_osu[] = {
    {'m', "message-size", "[MIN:]MAX, sizes in bytes [1:1048576]"},
    {'i', "iterations", "exactly so many timed calls; else until the median is known well", "-n"},
    {'x', "warmup", "at least so many calls before", "-w"},
    {'f', "full", "columns for the fastest and the slowest call, and their number", "", "",
     no_value},
    {'c', "validation", "a column that says whether results were right; they are checked anyway",
     "", "", Flag::Value::attached},
    {'z', "tail-lat", "-z50,90,99: columns for percentiles of the calls", "", "",
     Flag::Value::attached},
    {'T', "type", "mpi_char, mpi_int, mpi_float or mpi_double [mpi_char]"},
    {'l', "in-place", "input and output in one buffer", "", "", no_value},
    {'k', "root-rank", "fixed:R [fixed:0]"},
    {'d', "accelerator", "cuda: buffers of GPUs"},
    {'u', "validation-warmup", "results are checked outside of the time"},
    {'M', "mem-limit", "memory is limited by -m"},
    {'G', "graph", "for figures type --json FILE, and then: tutti report FILE"},
    {'P', "papi", "hardware counters are not read"},
    {'D', "ddt", "data are contiguous"},
    {'I', "session", "MPI starts as usual", "", "", no_value},
    {'v', "version", "of tutti", "", "", no_value},
    {'h', "help", "this", "", "", no_value},
};

/// -m: from MIN to MAX, doubling.
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

    // Blocks are counted in elements, as tutti's sizes are those of all blocks together.
    Arguments words(Collective collective, DataType type) const {
        if (!osu_counts_blocks(collective)) return {"-b", first, "-e", last, "-f", "2"};
        const SizeSweep sweep{.first = parse_bytes(first), .last = parse_bytes(last)};
        std::vector<std::int64_t> counts;
        for (const Bytes size : sweep.sizes())
            if (const auto count = size.count / static_cast<std::int64_t>(size_of(type)); count > 0)
                counts.push_back(count);
        if (counts.empty())
            throw Error(fmt::format("-m {} is less than one element; type a larger size", last));
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
    throw Error("-T " + text +
                ": one type at a time; type -T mpi_char, mpi_int, mpi_float or mpi_double");
}

// ",p50,p90" of "50,90".
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
        throw Error("-k " + text + ": the root stays where it is; type -k fixed:0");
    return text.substr(fixed.size());
}

}  // namespace

std::optional<Arguments> words_of_osu(const ProgramName& program, const Arguments& words) {
    const std::string name(program.name);
    const Typed typed = read_flags(flags_of_osu, words, name);
    Arguments bench{"bench", std::string(name_of(program.collective))};
    SizesOfOsu sizes;
    DataType type = DataType::int8;
    std::string form = "osu", in_place = "no";
    for (const auto& [flag, value] : typed.flags) {
        switch (flag->letter) {
            case 'h':
                if (launcher().rank == 0)
                    std::cout << help_on(flags_of_osu, name, name_of(program.collective));
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
                if (has_root(program.collective)) bench.insert(bench.end(), {"-r", root_of(value)});
                break;
            case 'd':
                if (value != "cuda")
                    throw Error("-d " + value + " is unknown; type -d cuda, or leave it out");
                bench.insert(bench.end(), {"--buffers", "device"});
                break;
            default:
                translate(*flag, value, bench);
        }
    }
    for (const Arguments& more :
         {sizes.words(program.collective, type),
          Arguments{"-d", std::string(name_of(type)), "--inplace", in_place, "--like", form},
          typed.others})
        bench.insert(bench.end(), more.begin(), more.end());
    add_candidates(typed, bench);
    return bench;
}

}  // namespace tutti
