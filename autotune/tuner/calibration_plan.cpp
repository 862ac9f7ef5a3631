// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/calibration_plan.hpp"

#include <algorithm>
#include <array>

namespace tutti {
namespace {

struct Schedules {
    Collective collective;
    std::vector<std::string> algorithms;
};

// One step and many, from a root and all at once, sums read by all or written to all, in segments
// and whole.
const Schedules schedules[] = {
    {Collective::all_reduce, {"one-shot", "two-shot", "ring", "tree", "chain"}},
    {Collective::broadcast, {"linear", "ring", "chain"}},
    {Collective::reduce, {"linear", "tree"}},
    {Collective::all_gather, {"one-shot", "linear", "bruck"}},
    {Collective::reduce_scatter, {"one-shot", "ring"}},
    {Collective::scatter, {"linear", "tree"}},
    {Collective::gather, {"linear", "tree"}},
    {Collective::all_to_all, {"linear", "bruck"}},
};

// Of the size column (total_bytes). Messages of these sizes and of parts of them meet every point
// of the curves.
constexpr std::array<std::int64_t, 9> sizes{64,       512,       2 << 10,   4 << 10, 8 << 10,
                                            32 << 10, 128 << 10, 512 << 10, 4 << 20};

}  // namespace

std::vector<ModelProbe> calibration_plan(const Placement& hosts,
                                         std::span<const std::string> transports,
                                         std::span<const BufferKind> kinds) {
    std::vector<ModelProbe> plan;
    ModelCall call{.hosts = hosts};
    for (const auto& [collective, algorithms] : schedules)
        for (const std::int64_t size : sizes)
            for (const BufferKind kind : kinds)
                for (const std::string& transport : transports)
                    for (const std::string& algorithm : algorithms) {
                        call.buffers = kind;
                        call.call = {.collective = collective,
                                     .count = count_for(collective, DataType::float32, call.ranks(),
                                                        Bytes{size})};
                        ModelProbe& probe = plan.emplace_back();
                        probe.configuration.algorithm = algorithm;
                        probe.configuration.transport = transport;
                        probe.call = call;
                    }
    return plan;
}

}  // namespace tutti
