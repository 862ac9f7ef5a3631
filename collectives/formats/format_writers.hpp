// SPDX-License-Identifier: Apache-2.0
#pragma once
// The writers, one file each, and what they share. Only schedule_formats.cpp lists them.
#include <chrono>
#include <string>
#include <vector>

#include "collectives/formats/file_programs.hpp"
#include "collectives/formats/schedule_formats.hpp"

namespace tutti {

std::vector<ExportedFile> mscclpp_plan(const ExportedSchedule& exported);
std::vector<ExportedFile> msccl_xml(const ExportedSchedule& exported);
std::vector<ExportedFile> goal_text(const ExportedSchedule& exported);
std::vector<ExportedFile> chakra_trace(const ExportedSchedule& exported);
std::vector<ExportedFile> dot_graph(const ExportedSchedule& exported);

/// Throws Error if a format cannot hold something: "FORMAT cannot hold WHAT; use CURE".
[[noreturn]] void refuse_export(std::string_view format, std::string_view what,
                                std::string_view cure);

/// A collective's name in MSCCL's files.
struct MscclName {
    Collective collective;
    std::string_view xml, plan;  ///< plan: empty if MSCCL++ has no such collective
};

/// Throws Error without a name in the format.
std::string_view msccl_name(Collective collective, std::string_view format,
                            std::string_view MscclName::*name);
/// Returns the names of all collectives that MSCCL has.
std::span<const MscclName> msccl_names();

/// Returns the time of a reduction or copy of this size.
std::chrono::nanoseconds time_of(const ExportedSchedule& exported, std::int64_t bytes);

}  // namespace tutti
