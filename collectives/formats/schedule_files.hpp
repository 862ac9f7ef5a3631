// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// A schedule that another program wrote.
struct ImportedSchedule {
    std::string name;
    CollectiveSpec spec;
    Schedule schedule;
};

/// Reads MSCCL XML, an MSCCL++ execution plan, or an algorithm of SCCL or TACCL (JSON). The content
/// determines the format. Messages and reads of peers' memory become transfers. Throws Error
/// "FILE:LINE: problem; cure", with Exit::wrong_result if the program cannot deliver. Most
/// errors of a program are found by the proof.
ImportedSchedule read_schedule(const std::filesystem::path& file);

/// Reads a schedule from memory; `name` replaces the file name in errors.
ImportedSchedule parse_schedule(std::string_view text, std::string_view name);

}  // namespace tutti
