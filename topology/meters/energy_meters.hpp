// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "topology/detect/nvml_library.hpp"
#include "topology/meters/meters_root.hpp"

namespace tutti {

/// What counts the energy of a part of a host: of all that runs there, whoever started it.
struct EnergyMeter {
    enum class Of { package, gpu } of = Of::package;
    std::string name;            ///< "package-0", "package-0 dram", "GPU 0"
    std::int64_t period_ns = 0;  ///< from one change of what it shows to the next
    std::int64_t range_uj = 0;   ///< where it begins at 0 again; 0: it never does

    /// What was used between two readings that are at most once around apart.
    std::int64_t used_uj(std::int64_t before_uj, std::int64_t after_uj) const {
        return after_uj - before_uj + (after_uj < before_uj ? range_uj : 0);
    }

    bool operator==(const EnergyMeter&) const = default;
};

/// The meters of this host that this process may read: RAPL's of packages and their memory (Intel
/// and AMD), and NVIDIA's driver's of GPUs. Having none is a normal case.
class EnergyMeters {
public:
    explicit EnergyMeters(const std::filesystem::path& root = meters_root(),
                          const std::filesystem::path& nvml = "libnvidia-ml.so.1");

    const std::vector<EnergyMeter>& all() const { return meters_; }

    /// In microjoules, in the order of all(); none of those that change less often than every
    /// `most_period_ns`, and where a meter does not answer. Takes some 10 microseconds a package.
    std::vector<std::optional<std::int64_t>> read_uj(std::int64_t most_period_ns) const;

    /// Why packages have no meter, and what to type where that helps; none where they have.
    const std::optional<std::string>& packages_missing() const { return packages_missing_; }

private:
    void find_packages(const std::filesystem::path& root);
    void find_gpus();

    std::vector<EnergyMeter> meters_;
    std::vector<std::filesystem::path> files_;  // of packages, which come first
    std::vector<nvml::Device> gpus_;
    std::optional<NvmlLibrary> driver_;
    std::optional<std::string> packages_missing_;
};

}  // namespace tutti
