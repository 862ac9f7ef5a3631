// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// One number that tells how a host does: a row of the table in health.cpp.
struct HealthReading {
    std::string name;   // "steal_pct"
    double value = 0;   // counts are those of the launch
    std::string of;     // part of the host if it has several: "eth0", "GPU 1"
    std::string wrong;  // short description of the problem; empty if there is none

    bool operator==(const HealthReading&) const = default;
};

/// How one host of a launch did: in the launch's record as it began, in the end's over the launch.
/// What is 0 or unknown is left out.
struct HostHealth {
    std::string host;
    std::vector<HealthReading> readings;

    /// Adds a reading, unless it is 0, and judges it. The name is one of the table.
    void add(std::string_view name, double value, std::string of = "");

    bool operator==(const HostHealth&) const = default;
};

/// Returns whether the first of two bad readings of one name is the worse one.
bool is_worse(const HealthReading& one, const HealthReading& other);

}  // namespace tutti
