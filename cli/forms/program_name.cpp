// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/program_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

// A suite is known by how its programs' names begin and end.
struct SuiteOfPrograms {
    std::string_view begin, end;
    Translation translate;
    std::vector<ProgramName> programs;

    bool has(std::string_view name) const {
        return name.size() > begin.size() + end.size() && name.starts_with(begin) &&
               name.ends_with(end);
    }
};

// The one place where suites are listed; CMakeLists.txt makes a link for each program.
const SuiteOfPrograms suites[] = {
    {"",
     "_perf",
     words_of_nccl_tests,
     {{"all_reduce_perf", Collective::all_reduce},
      {"all_gather_perf", Collective::all_gather},
      {"reduce_scatter_perf", Collective::reduce_scatter},
      {"broadcast_perf", Collective::broadcast},
      {"reduce_perf", Collective::reduce},
      {"scatter_perf", Collective::scatter},
      {"gather_perf", Collective::gather},
      {"alltoall_perf", Collective::all_to_all}}},
    {"osu_",
     "",
     words_of_osu,
     {{"osu_allreduce", Collective::all_reduce},
      {"osu_allgather", Collective::all_gather},
      {"osu_reduce_scatter", Collective::reduce_scatter},
      {"osu_bcast", Collective::broadcast},
      {"osu_reduce", Collective::reduce},
      {"osu_scatter", Collective::scatter},
      {"osu_gather", Collective::gather},
      {"osu_alltoall", Collective::all_to_all}}},
};

std::string names_of_programs(const SuiteOfPrograms& suite) {
    std::string names;
    for (const ProgramName& program : suite.programs) {
        if (!names.empty()) names += ' ';
        names += program.name;
    }
    return names;
}

}  // namespace

std::optional<Arguments> command_of(const std::string& program, const Arguments& words) {
    const auto suite =
        std::ranges::find_if(suites, [&](const SuiteOfPrograms& one) { return one.has(program); });
    if (suite == std::end(suites)) return words;
    const auto found = std::ranges::find(suite->programs, program, &ProgramName::name);
    if (found == suite->programs.end())
        throw Error(fmt::format(
            "{} is not there, as tutti measures collectives only; type one of: {}; or 'tutti "
            "limits' for latency and bandwidth between two ranks",
            program, names_of_programs(*suite)));
    return suite->translate(*found, words);
}

}  // namespace tutti
