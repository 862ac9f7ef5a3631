// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "collectives/formats/placed_moves.hpp"

namespace tutti {

/// A schedule to be written to a file of another library or simulator.
struct ExportedSchedule {
    const Schedule& schedule;
    CollectiveSpec spec;
    std::string name;  ///< in the file
    Aliasing in_place = Aliasing::none;
    // for simulators
    Bytes size = {};          ///< of the largest buffer of a rank
    Bytes compute_rate = {};  ///< bytes that a rank reduces or copies in a second
};

struct ExportedFile {
    std::string name_end;  ///< follows the name that the user gave
    std::string text;
};

/// One row of the table of formats for `tutti export-schedule`.
struct ScheduleFormat {
    std::string_view name;
    std::string_view what;
    enum class For { programs, simulators, pictures } purpose;
    /// Returns the files. Throws Error if the format cannot hold the schedule.
    std::vector<ExportedFile> (*write)(const ExportedSchedule&);
};

std::span<const ScheduleFormat> schedule_formats();

}  // namespace tutti
