// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/traces/arrival_log.hpp"

// Traces of PyTorch's profiler (Kineto): the kernels of collectives on the GPU. A kernel begins
// when its rank arrives, and ends when the collective ends on all ranks, so clocks are not needed.
namespace tutti {
namespace {

// Kernels of one collective may have the same number.
constexpr std::int64_t most_kernels_of_number = 1024;

struct CollectiveKernel {
    std::string group, name;
    double begin_us = 0, took_ns = 0;
    std::int64_t group_size = 0;         // 0: not recorded
    std::optional<std::int64_t> number;  // in its group
};

std::optional<CollectiveKernel> kernel_in(const Fields& event) {
    if (!event.has("cat") || !event.at("cat").text() || !event.has("args") ||
        !event.at("args").object())
        return std::nullopt;
    if (in_lower_case(event.text("cat")) != "kernel") return std::nullopt;
    const Fields args = event.object("args");
    if (!args.has("Collective name") || !event.has("dur")) return std::nullopt;
    CollectiveKernel kernel{.name = args.text("Collective name")};
    if (!waits_for_all(kernel.name)) return std::nullopt;
    for (const char* name : {"Process Group Name", "Process Group Ranks"})
        if (args.has(name)) kernel.group += text_of(args.at(name));
    kernel.group_size = args.number("Group size", 0);
    if (kernel.group_size < 0) args.refuse("'Group size' is negative");
    kernel.begin_us = number_in(event, "ts").value_or(0);
    kernel.took_ns = static_cast<double>(event.duration_ns("dur"));
    if (args.has("Seq") && args.at("Seq").whole_number()) kernel.number = args.count("Seq");
    return kernel;
}

std::vector<CollectiveKernel> kernels_in(const RankFile& file) {
    std::vector<CollectiveKernel> kernels;
    for (const Fields& event : Fields(file.document, file.source).objects("traceEvents"))
        if (auto kernel = kernel_in(event)) kernels.push_back(std::move(*kernel));
    std::ranges::stable_sort(kernels, {}, &CollectiveKernel::begin_us);
    return kernels;
}

}  // namespace

ArrivalLog arrivals_in_profiles(const std::vector<RankFile>& files) {
    ArrivalLog log;
    using Kind = std::pair<std::string, std::string>;  // group, name
    std::map<Kind, std::map<int, std::int64_t>> unnumbered;
    log.names.resize(as_size(files.back().rank + 1));
    for (const RankFile& file : files) {
        at(log.names, file.rank) = file.source.name();
        std::map<std::pair<Kind, std::int64_t>, std::int64_t> repeated;
        for (const CollectiveKernel& kernel : kernels_in(file)) {
            const Kind kind{kernel.group, kernel.name};
            std::int64_t sequence = 0;
            if (kernel.number) {
                const std::int64_t nth = repeated[{kind, *kernel.number}]++;
                if (nth >= most_kernels_of_number) continue;
                sequence = *kernel.number * most_kernels_of_number + nth;
            } else {
                sequence = unnumbered[kind][file.rank]++;
            }
            log.times_ns[{kernel.group, kernel.name, sequence}][file.rank] = kernel.took_ns;
            std::size_t& members = log.members[kernel.group];
            members = std::max(members, static_cast<std::size_t>(kernel.group_size));
        }
    }
    // The k-th kernels of ranks are of the same collective only if all ranks have as many.
    for (const auto& [kind, ranks] : unnumbered)
        for (const auto& [rank, kernels] : ranks)
            if (kernels != ranks.begin()->second)
                throw Error(fmt::format(
                    "{}: {} kernels of '{}', but {} has {}; record the same steps on all ranks",
                    at(log.names, rank), kernels, printable(kind.second),
                    at(log.names, ranks.begin()->first), ranks.begin()->second));
    std::map<std::string, std::map<int, bool>> seen;
    for (const auto& [call, times] : log.times_ns)
        for (const auto& [rank, time] : times) seen[call.group][rank] = true;
    for (const auto& [group, ranks] : seen)
        if (log.members[group] == 0) log.members[group] = ranks.size();
    return log;
}

}  // namespace tutti
