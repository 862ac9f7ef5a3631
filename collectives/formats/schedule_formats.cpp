// SPDX-License-Identifier: Apache-2.0
#include "collectives/formats/schedule_formats.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "collectives/formats/format_writers.hpp"

namespace tutti {
namespace {

using For = ScheduleFormat::For;
constexpr ScheduleFormat formats[] = {
    {"mscclpp", "execution plan of MSCCL++ (JSON)", For::programs, mscclpp_plan},
    {"msccl-xml", "algorithm of MSCCL (XML)", For::programs, msccl_xml},
    {"goal", "GOAL of LogGOPSim and ATLAHS", For::simulators, goal_text},
    {"chakra", "Chakra execution traces for ASTRA-sim, NAME.RANK.et", For::simulators,
     chakra_trace},
    {"dot", "graph for Graphviz", For::pictures, dot_graph},
};

constexpr MscclName names[] = {
    {Collective::all_reduce, "allreduce", "allreduce"},
    {Collective::all_gather, "allgather", "allgather"},
    {Collective::reduce_scatter, "reduce_scatter", "reducescatter"},
    {Collective::all_to_all, "alltoall", "alltoall"},
    {Collective::broadcast, "broadcast", ""},
    {Collective::reduce, "reduce", ""},
};

}  // namespace

std::chrono::nanoseconds time_of(const ExportedSchedule& exported, std::int64_t bytes) {
    return std::chrono::nanoseconds(std::llround(static_cast<double>(bytes) * 1e9 /
                                                 static_cast<double>(exported.compute_rate.count)));
}

std::span<const ScheduleFormat> schedule_formats() { return formats; }

std::span<const MscclName> msccl_names() { return names; }

void refuse_export(std::string_view format, std::string_view what, std::string_view cure) {
    throw Error(fmt::format("{} cannot hold {}; use {}", format, what, cure));
}

std::string_view msccl_name(Collective collective, std::string_view format,
                            std::string_view MscclName::*name) {
    for (const MscclName& row : names)
        if (row.collective == collective && !(row.*name).empty()) return row.*name;
    refuse_export(format, name_of(collective),
                  name == &MscclName::plan &&
                          (collective == Collective::broadcast || collective == Collective::reduce)
                      ? "--to msccl-xml, goal, chakra or dot"
                      : "--to goal, chakra or dot");
}

}  // namespace tutti
