// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/gpu_conditions.hpp"

namespace tutti {
namespace {

// Bits of NVML's answer. Being idle, or clocks that somebody chose, are no trouble.
constexpr struct {
    std::uint64_t bits;
    const char* what;
} reasons[] = {
    {0x20 | 0x40, "heat"}, {0x4, "power cap"}, {0x80, "power brake"}, {0x8, "hardware slowdown"}};

std::string in_words(std::uint64_t mask) {
    std::string words;
    for (const auto& reason : reasons)
        if (mask & reason.bits) words += (words.empty() ? "" : ", ") + std::string(reason.what);
    return words;
}

}  // namespace

std::vector<GpuCondition> gpu_conditions(const NvmlLibrary& driver) {
    std::vector<GpuCondition> all;
    for (int index = 0; index < driver.devices(); ++index) {
        const auto gpu = driver.device(index);
        if (!gpu) continue;
        all.push_back({.name = "GPU " + std::to_string(index),
                       .slowed_by = in_words(driver.slowdown_reasons(*gpu)),
                       .ecc_corrected = driver.ecc_errors(*gpu, nvml::Ecc::corrected),
                       .ecc_uncorrected = driver.ecc_errors(*gpu, nvml::Ecc::uncorrected)});
    }
    return all;
}

}  // namespace tutti
