// SPDX-License-Identifier: Apache-2.0
// The text is a file, or files of the ranks separated by zero bytes. Reading it gives a trace,
// which can be replayed, or a one-line error with a file.
#include <algorithm>

#include "base/source.hpp"
#include "tests/fuzz/demand.hpp"
#include "workloads/program/changed_program.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/traces/trace.hpp"

namespace {

using namespace tutti;

constexpr std::size_t enough = 16;  // most ranks for the slow check

void use(const Program& program) {
    check(program);
    check(repeated(program, 2));
    check(skewed(program, with_slow_rank(with_skew({}, "10%"), "0:3")));
    for (int rank = 0; rank < program.ranks(); ++rank) {
        const std::int64_t bytes = bytes_of_step(program, {rank});
        demand(hideable_bytes_of_step(program, {rank}) <= bytes, "no more is hidden than sent");
        demand(compute_ns_of_step(program, {rank}, 1) >= 0, "no time is negative");
    }
}

void use(const GradientTrace& trace, const std::string& name, const std::string& file) {
    if (trace.buckets.size() > enough || trace.iterations.size() > enough ||
        as_size(trace.recorded_ranks()) > enough)
        return;
    use(program_of(trace, name, trace.buckets, 2));
    const RecordedGradients gradients(file, trace, Rank{0});
    demand(gradients.steps() <= 1, "one step is recorded");
}

void use(const OpsTrace& trace, const std::string& name, const std::string&) {
    if (trace.ranks.size() > enough) return;
    const OpsProgram made = program_of(trace, name);
    demand(made.padding_bytes >= 0, "padding is more, not less");
    use(made.program);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FolderInMemory folder("trace");
    static const std::string gradients[] = {
        folder.file("trace.step0.bucket0.rank0.f32", std::string(8, '\0')),
        folder.file("trace.step0.bucket1.rank0.f32", std::string(16, '\0'))};
    try {
        const std::string typed = folder.files_of_ranks(text_of(data, size));
        const Trace trace = read_trace(typed);
        std::visit([&](const auto& what) { use(what, trace.model, typed); }, trace.what);
    } catch (const Error& error) {
        demand_one_line(error);
    }
    return 0;
}
