// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tutti {

/// Types and constants of NVML's public interface, which are stable. They are declared here so that
/// the build needs no header of NVIDIA.
namespace nvml {

using Device = struct DeviceOpaque*;
inline constexpr int success = 0;

struct PciInfo {
    char legacy_address[16];
    unsigned domain, bus, device;
    unsigned device_id;  ///< device in the high half, vendor in the low one
    unsigned subsystem_id;
    char address[32];   ///< "00000000:17:00.0"
    char reserved[60];  ///< later versions of the driver may write more
};

struct FieldValue {
    unsigned field;
    unsigned scope;  ///< number of a link
    long long timestamp, latency;
    int type;  ///< of the value; see NvmlLibrary::field
    int status;
    union {
        double real;
        unsigned u32;
        unsigned long long u64;
        long long s64;
    } value;
};
static_assert(sizeof(FieldValue) == 40);

enum Field : unsigned {
    nvlink_megabytes = 90,  // per second, of any link; field 164 is for one link
    nvlink_megabytes_of_link = 164,
    nvlink_state = 165,
    c2c_count = 170,
    c2c_status = 171,
    c2c_megabytes = 172,
};

enum class Ecc : int { corrected = 0, uncorrected = 1 };

}  // namespace nvml

/// NVML, loaded and initialised while the object exists. Functions return none if NVML fails.
class NvmlLibrary {
public:
    /// Returns none and sets `why_not` if the library is missing or does not start.
    static std::optional<NvmlLibrary> load(const std::filesystem::path& path, std::string& why_not);
    ~NvmlLibrary();
    NvmlLibrary(NvmlLibrary&& other) noexcept;
    NvmlLibrary& operator=(NvmlLibrary&& other) noexcept;

    int devices() const;
    std::optional<nvml::Device> device(int index) const;
    std::optional<nvml::PciInfo> pci(nvml::Device) const;
    std::string name(nvml::Device) const;
    std::optional<int> compute_capability(nvml::Device) const;  ///< 90 for 9.0
    std::optional<int> max_pcie_generation(nvml::Device) const;
    std::optional<int> max_pcie_width(nvml::Device) const;
    bool has_mig_instances(nvml::Device) const;

    bool link_is_up(nvml::Device, unsigned link) const;
    bool link_may_carry_peers(nvml::Device, unsigned link) const;
    std::optional<nvml::PciInfo> link_remote(nvml::Device, unsigned link) const;
    std::optional<double> field(nvml::Device, nvml::Field, unsigned scope = 0) const;

    /// Returns the millijoules since the driver was started.
    std::optional<std::int64_t> energy_mj(nvml::Device) const;
    /// Returns the bits of reasons for a low clock; 0 also if the driver does not report them.
    std::uint64_t slowdown_reasons(nvml::Device) const;
    /// Returns the errors since the driver was started; 0 if the GPU does not count them.
    std::int64_t ecc_errors(nvml::Device, nvml::Ecc) const;

    /// Returns whether the first GPU can read the second's memory.
    std::optional<bool> reaches(nvml::Device, nvml::Device) const;

private:
    explicit NvmlLibrary(void* handle) : handle_(handle) {}
    template <class... Arguments>
    std::optional<int> call(const char* function, Arguments... arguments) const;
    template <class... Arguments>
    bool succeeds(const char* function, Arguments... arguments) const;

    void* handle_;
};

}  // namespace tutti
