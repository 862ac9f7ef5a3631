// SPDX-License-Identifier: Apache-2.0
// The flags and defaults of nccl-tests, as options of 'tutti bench'.
#include <fmt/format.h>

#include <iostream>

#include "base/source.hpp"
#include "cli/forms/flags.hpp"
#include "cli/forms/program_name.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

constexpr Flag flags_of_nccl_tests[] = {
    {'b', "minbytes", "smallest size [32M]"},
    {'e', "maxbytes", "largest size [32M]"},
    {'i', "stepbytes", "from size to size, added [1M]"},
    {'f', "stepfactor", "from size to size, multiplied; 1: added"},
    {'g', "ngpus", "ranks of a thread, as threads of this process [1]"},
    {'t', "nthreads", "threads, each with so many ranks [1]"},
    {'n', "iters", "exactly so many timed calls; else until the median is known well", "-n"},
    {'w', "warmup_iters", "at least so many calls before", "-w"},
    {'c', "check", "check results: 1 or 0", "-c"},
    {'o', "op", "sum prod min max avg, or all [sum]"},
    {'d', "datatype", "int8 int32 ... half bfloat16 float double, or all [float]", "-d"},
    {'r', "root", "a rank, or -1 for all [0]"},
    {'T', "timeout", "seconds to wait for a rank", "-T", "0"},
    {'J', "output_file", "FILE.json in the shape of nccl-tests, FILE.jsonl or FILE.csv", "-J"},
    {'G', "cudagraph", "calls of one launch, on devices", "-G", "0"},
    {'R', "local_register", "1 or 2: registered memory; 0: unregistered"},
    {'I', "per_iter_timing",
     "1: also the fastest and slowest call, their 99th percentile and "
     "variation"},
    {'z', "blocking", "1 or 3: calls start at a barrier; each is waited for anyway"},
    {'a', "average", "times are those of the slowest rank, as with -a 3", "", "3"},
    {'m', "agg_iters", "calls are timed one by one", "", "1"},
    {'N', "run_cycles", "a sweep is measured once; for repetitions type --launches N", "", "1"},
    {'K', "per_iter_skip", "calls before the timed ones are never counted, see -w", "", "0"},
    {'C', "report_cputime", "times are those of the clock", "", "0"},
    {'S', "report_timestamps", "the time of each row is not kept; see --json FILE", "", "0"},
    {'p', "parallel_init", "ranks start at the same time anyway", "", "0"},
    {'y', "stream_null", "there are no streams to choose from", "", "0"},
    {'x', "cta_policy", "it is NCCL's own; with --baseline nccl set NCCL_CTA_POLICY", "", "0"},
    {'D', "device_implementation", "algorithms are named by --algo", "", "0"},
    {'V', "device_cta_count", "algorithms are named by --algo", "", "16"},
    {'M', "memory", "memory is not reported", "", "0"},
    {'u', "unalign", "buffers are aligned", "", "0"},
    {'h', "help", "this", "", "", Flag::Value::none},
};

int parse_number_of(const Flag& flag, const std::string& value) {
    const auto number = decimal_number(value);
    if (!number || *number < 1 || *number > 1024)
        throw Error(fmt::format("-{} {} is no number of ranks; type for example -{} 2", flag.letter,
                                value, flag.letter));
    return static_cast<int>(*number);
}

// A factor wins over a step.
struct SizesAsTyped {
    std::string first = "32M", last = "32M", factor = "1", step = "1M";

    Arguments words() const {
        const bool adds = factor == "1";
        return {"-b", first, "-e", last, adds ? "-i" : "-f", adds ? step : factor};
    }
};

void add_ranks(const Typed& typed, int ranks, Arguments& words) {
    if (ranks == 1) return;
    if (typed.has("--ranks") || typed.has("--launcher"))
        throw Error("-g and -t are ranks, too; leave --ranks and --launcher out, or -g and -t");
    if (const Launcher by = launcher(); by.is_there())
        throw Error(
            fmt::format("under {} a process is a rank; start {} processes, and leave -g and -t out",
                        by.name, ranks * by.size));
    words.insert(words.end(), {"--ranks", std::to_string(ranks)});
}

}  // namespace

std::optional<Arguments> words_of_nccl_tests(const ProgramName& program, const Arguments& words) {
    const std::string name(program.name);
    const Typed typed = read_flags(flags_of_nccl_tests, words, name);
    Arguments bench{"bench", std::string(name_of(program.collective))};
    SizesAsTyped sizes;
    int ranks = 1;
    std::string form = "nccl-tests";
    for (const auto& [flag, value] : typed.flags) {
        switch (flag->letter) {
            case 'h':
                if (launcher().rank == 0)
                    std::cout << help_on(flags_of_nccl_tests, name, name_of(program.collective));
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
                    throw Error(
                        "-o mulsum, a sum that NCCL scales, is none of tutti's operations; type -o "
                        "sum or -o avg");
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
