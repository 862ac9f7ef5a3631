// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/bench_output.hpp"

#include "base/name_table.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

struct Form {
    std::string_view name;
    std::unique_ptr<BenchOutput> (*make)(const BenchOptions& options,
                                         std::span<const std::string> details);
};

// The one place where forms of other suites are listed.
constexpr Form forms[] = {
    {"nccl-tests", output_like_nccl_tests},
    {"osu", output_like_osu},
};

}  // namespace

std::unique_ptr<BenchOutput> make_output(const BenchOptions& options, TableColumns columns) {
    const std::vector<std::string> words = split_list(options.like);
    if (words.empty() || words.front() == "tutti") return own_output(options, columns);
    return find_row(forms, "form", words.front(), {"tutti"})
        .make(options, std::span(words).subspan(1));
}

}  // namespace tutti
