// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "topology/detect/nvml_library.hpp"
#include "topology/meters/host_counters.hpp"

namespace tutti {

/// A counter of the energy that a part of the host uses, for all programs together.
struct EnergyMeter {
    enum class Of { package, gpu } of = Of::package;
    std::string name;            ///< "package-0", "package-0 dram", "GPU 0"
    std::int64_t period_ns = 0;  ///< time between two updates
    std::int64_t range_uj = 0;   ///< value at which it wraps to 0; 0: never

    /// Returns the energy between two readings with at most one wrap between them.
    std::int64_t used_uj(std::int64_t before_uj, std::int64_t after_uj) const {
        return after_uj - before_uj + (after_uj < before_uj ? range_uj : 0);
    }

    bool operator==(const EnergyMeter&) const = default;
};

/// The energy meters that this process may read: RAPL for packages and their memory (Intel and AMD)
/// and the NVIDIA driver's for GPUs. Many hosts have none.
class EnergyMeters {
public:
    explicit EnergyMeters(const std::filesystem::path& root = meters_root(),
                          const std::filesystem::path& nvml = "libnvidia-ml.so.1");

    const std::vector<EnergyMeter>& all() const { return meters_; }

    /// Returns microjoules in the order of all(); none for meters that do not answer or are updated
    /// less often than every `most_period_ns`. Takes some 10 microseconds per package.
    std::vector<std::optional<std::int64_t>> read_uj(std::int64_t most_period_ns) const;

    /// Returns why packages have no meter, and the cure if there is one; none if they have.
    const std::optional<std::string>& packages_missing() const { return packages_missing_; }

private:
    void find_packages(const std::filesystem::path& root);
    void find_gpus();

    std::vector<EnergyMeter> meters_;
    std::vector<std::filesystem::path>
        files_;  // the packages' files; packages are first in meters_
    std::vector<nvml::Device> gpus_;
    std::optional<NvmlLibrary> driver_;
    std::optional<std::string> packages_missing_;
};

}  // namespace tutti
