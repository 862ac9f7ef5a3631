// SPDX-License-Identifier: Apache-2.0
// The flags and defaults of nccl-tests, as options of 'tutti bench'.
#include <fmt/format.h>

#include <iostream>

#include "base/source.hpp"
#include "cli/forms/other_suites.hpp"
#include "cli/options/run_plan.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

constexpr Flag flags_of_nccl_tests[] = {
    {'b', "minbytes", "Smallest size [32M]"},
    {'e', "maxbytes", "Largest size [32M]"},
    {'i', "stepbytes", "Step from one size to the next [1M]"},
    {'f', "stepfactor", "Factor from one size to the next; 1: use the step"},
    {'g', "ngpus", "Ranks per thread, as threads of this process [1]"},
    {'t', "nthreads", "Threads, each with the ranks of -g [1]"},
    {'n', "iters", "Number of timed calls (default: until the median is precise)", "-n"},
    {'w', "warmup_iters", "Minimum number of warm-up calls", "-w"},
    {'c', "check", "Check of the results: 1 or 0", "-c"},
    {'o', "op", "Reduction operation: sum prod min max avg, or all [sum]"},
    {'d', "datatype", "Element type: int8 int32 ... half bfloat16 float double, or all [float]",
     "-d"},
    {'r', "root", "Root rank, or -1 for all [0]"},
    {'T', "timeout", "Time in seconds after which an unresponsive rank counts as failed", "-T",
     "0"},
    {'J', "output_file", "Output file: FILE.json in nccl-tests' format, FILE.jsonl or FILE.csv",
     "-J"},
    {'G', "cudagraph", "Calls per launch on devices", "-G", "0"},
    {'R', "local_register", "Memory: 1 or 2 registered, 0 unregistered"},
    {'I', "per_iter_timing",
     "1: also print the fastest and slowest call, the 99th percentile and the variation"},
    {'z', "blocking", "1 or 3: start calls at a barrier; every call is waited for in any case"},
    {'a', "average", "times are always those of the slowest rank, as with -a 3", "", "3"},
    {'m', "agg_iters", "calls are timed one by one", "", "1"},
    {'N', "run_cycles", "a sweep is measured once; use --launches N for repetitions", "", "1"},
    {'K', "per_iter_skip", "warm-up calls are never counted, see -w", "", "0"},
    {'C', "report_cputime", "times are wall-clock times", "", "0"},
    {'S', "report_timestamps", "the time of each row is not printed; use --json FILE", "", "0"},
    {'p', "parallel_init", "ranks always start at the same time", "", "0"},
    {'y', "stream_null", "host buffers have no streams", "", "0"},
    {'x', "cta_policy", "only for NCCL; with --baseline nccl set NCCL_CTA_POLICY", "", "0"},
    {'D', "device_implementation", "use --algo to choose algorithms", "", "0"},
    {'V', "device_cta_count", "use --algo to choose algorithms", "", "16"},
    {'M', "memory", "memory use is not reported", "", "0"},
    {'u', "unalign", "buffers are always aligned", "", "0"},
    {'h', "help", "Print this help", "", "", Flag::Value::none},
};

int parse_number_of(const Flag& flag, const std::string& value) {
    const auto number = decimal_number(value);
    if (!number || *number < 1 || *number > 1024)
        throw Error(fmt::format("-{} {} is not a number of ranks; use for example -{} 2",
                                flag.letter, value, flag.letter));
    return static_cast<int>(*number);
}

// The sizes as typed; a factor takes precedence over a step.
struct SizesAsTyped {
    std::string first = "32M", last = "32M", factor = "1", step = "1M";

    Arguments words() const {
        const bool adds = factor == "1";
        return {"-b", first, "-e", last, adds ? "-i" : "-f", adds ? step : factor};
    }
};

void add_ranks(const Typed& typed, int ranks, Arguments& words) {
    if (ranks == 1) return;
    if (option_in(typed.others, "--ranks") || option_in(typed.others, "--launcher"))
        throw Error("-g and -t cannot be used with --ranks or --launcher");
    if (const Launcher by = launcher(); by.is_there())
        throw Error(fmt::format(
            "-g and -t cannot be used under {}, where each process is a rank; start {} processes",
            by.name, ranks * by.size));
    words.insert(words.end(), {"--ranks", std::to_string(ranks)});
}

}  // namespace

std::optional<Arguments> words_of_nccl_tests(const ProgramName& program, const Arguments& words) {
    const std::string name(program.name);
    const Typed typed = read_flags(flags_of_nccl_tests, words, name);
    Arguments bench = bench_of(program, typed.others);
    SizesAsTyped sizes;
    int ranks = 1;
    std::string form = "nccl-tests";
    for (const auto& [flag, value] : typed.flags) {
        switch (flag->letter) {
            case 'h':
                if (launcher().rank == 0)
                    std::cout << help_on(flags_of_nccl_tests, name, name_of(program.form));
                return std::nullopt;
            case 'b':
                sizes.first = value;
                break;
            case 'e':
                sizes.last = value;
                break;
            case 'f':
                sizes.factor = value;
                break;
            case 'i':
                sizes.step = value;
                break;
            case 'g':
            case 't':
                ranks *= parse_number_of(*flag, value);
                break;
            case 'o':
                if (value == "mulsum")
                    throw Error("-o mulsum is not supported; use -o sum or -o avg");
                bench.insert(bench.end(), {"-o", value});
                break;
            case 'r':
                bench.insert(bench.end(), {"-r", value == "-1" ? "all" : value});
                break;
            case 'R':
                bench.insert(bench.end(),
                             {"--buffers", value == "0" ? "unregistered" : "registered"});
                break;
            case 'I':
                if (value != "0") form = "nccl-tests,per-iteration";
                break;
            case 'z':
                if (value == "1" || value == "3") bench.insert(bench.end(), {"--sync", "barrier"});
                break;
            default:
                translate(*flag, value, bench);
        }
    }
    for (const Arguments& more : {sizes.words(), Arguments{"--like", form}, typed.others})
        bench.insert(bench.end(), more.begin(), more.end());
    add_ranks(typed, ranks, bench);
    add_candidates(typed, bench);
    return bench;
}

}  // namespace tutti
