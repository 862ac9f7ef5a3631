// SPDX-License-Identifier: Apache-2.0
#include "results/records/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tutti {
namespace {

constexpr double any = std::numeric_limits<double>::infinity();

// The one place that says what disturbs a launch: what a reading may be, and what to say of one
// that is not (the first field is the part of the host, the second the value).
struct Row {
    std::string_view name;
    double least, most;
    const char* words;
};

constexpr Row rows[] = {
    // Read at the begin and at the end.
    {"clock_pct_of_base", 90, any, "{0}, below its base clock"},
    {"clock_pct_of_most", 50, any, "{0}, less than half of its maximum clock"},
    {"gpu_slowed", 0, 0, "{0}: its clock is throttled"},
    // Read at the begin.
    {"memory_pressure_pct", 0, 1, "memory is short: programs wait for it {1:.0f} % of the time"},
    {"swap_used_MiB", 0, any, ""},
    // Over the launch.
    {"steal_pct", 0, 2, "the hypervisor took {1:.0f} % of the CPUs' time"},
    {"preemptions_per_s", 0, 50, "other programs took {0}'s core {1:.0f} times a second"},
    {"cpu_stall_pct", 0, 25, "programs waited for a core {1:.0f} % of the time"},
    {"memory_stall_pct", 0, 1, "memory was short: programs waited for it {1:.0f} % of the time"},
    {"swapped_pages", 0, 0, "{1:.0f} pages of memory were swapped out or in"},
    {"thermal_throttles", 0, 0, "the processors were throttled by heat {1:.0f} times"},
    {"link_errors", 0, 0, "{0}: {1:.0f} frames were dropped or damaged"},
    {"ecc_corrected", 0, 0, "{0}: {1:.0f} corrected memory errors"},
    {"ecc_uncorrected", 0, 0, "{0}: {1:.0f} uncorrected memory errors"},
};

}  // namespace

void HostHealth::add(std::string_view name, double value, std::string of) {
    const auto row = std::ranges::find(rows, name, &Row::name);
    if (row == std::end(rows))
        throw std::logic_error(fmt::format("'{}' is not a reading of a host's health", name));
    if (value == 0) return;
    HealthReading reading{std::string(name), value, std::move(of), ""};
    if (value < row->least || value > row->most)
        reading.wrong = fmt::format(fmt::runtime(row->words), reading.of, value);
    readings.push_back(std::move(reading));
}

bool is_worse(const HealthReading& one, const HealthReading& other) {
    const auto row = std::ranges::find(rows, one.name, &Row::name);
    const bool less_is_worse = row != std::end(rows) && row->most == any;
    return less_is_worse ? one.value < other.value : one.value > other.value;
}

}  // namespace tutti
