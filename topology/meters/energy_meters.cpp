// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/energy_meters.hpp"

#include <fmt/format.h>

#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

using sysfs::Path;

constexpr std::int64_t rapl_period_ns = 1'000'000;
constexpr std::int64_t nvml_period_ns = 100'000'000;  // recent GPUs

// Returns "package-0 dram" for the zone intel-rapl:0:2. Empty for zones that are not counted: cores
// and uncore are parts of a package, and "psys" includes the packages.
std::string meter_name(const Path& zones, const std::string& zone) {
    const std::string name = sysfs::first_line(zones / zone / "name").value_or("");
    if (name.starts_with("package")) return name;
    if (name != "dram") return "";
    const std::string package = zone.substr(0, zone.rfind(':'));
    return sysfs::first_line(zones / package / "name").value_or("") + " dram";
}

}  // namespace

EnergyMeters::EnergyMeters(const Path& root, const Path& nvml) {
    find_packages(root);
    std::string why_not;
    driver_ = NvmlLibrary::load(nvml, why_not);
    if (driver_) find_gpus();
}

// The kernel uses Intel's name on AMD processors, too. Zones of "intel-rapl-mmio" would count the
// same packages twice.
void EnergyMeters::find_packages(const Path& root) {
    const Path zones = root / "sys/class/powercap";
    bool is_closed = false;
    for (const std::string& zone : sysfs::entries(zones)) {
        if (!zone.starts_with("intel-rapl:")) continue;
        const std::string name = meter_name(zones, zone);
        if (name.empty()) continue;
        const Path file = zones / zone / "energy_uj";
        if (!sysfs::number(file)) {
            is_closed = true;
            continue;
        }
        meters_.push_back(
            {.of = EnergyMeter::Of::package,
             .name = name,
             .period_ns = rapl_period_ns,
             .range_uj = sysfs::number(zones / zone / "max_energy_range_uj").value_or(0)});
        files_.push_back(file);
    }
    if (!files_.empty()) return;
    packages_missing_ =
        is_closed ? "only root may read RAPL; use sudo chmod a+r "
                    "/sys/class/powercap/intel-rapl:*/energy_uj"
                  : "no RAPL in /sys/class/powercap (virtual machines and containers have none)";
}

void EnergyMeters::find_gpus() {
    for (int index = 0; index < driver_->devices(); ++index) {
        const auto gpu = driver_->device(index);
        if (!gpu || !driver_->energy_mj(*gpu)) continue;
        meters_.push_back({.of = EnergyMeter::Of::gpu,
                           .name = fmt::format("GPU {}", index),
                           .period_ns = nvml_period_ns});
        gpus_.push_back(*gpu);
    }
}

std::vector<std::optional<std::int64_t>> EnergyMeters::read_uj(std::int64_t most_period_ns) const {
    std::vector<std::optional<std::int64_t>> readings(meters_.size());
    for (std::size_t i = 0; i < meters_.size(); ++i) {
        if (meters_[i].period_ns > most_period_ns) continue;
        if (i < files_.size()) {
            readings[i] = sysfs::number(files_[i]);
        } else if (const auto millijoules = driver_->energy_mj(gpus_[i - files_.size()])) {
            readings[i] = *millijoules * 1000;
        }
    }
    return readings;
}

}  // namespace tutti
