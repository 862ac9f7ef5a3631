// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/nvml_library.hpp"

#include <dlfcn.h>

#include <utility>

namespace tutti {

// Looks the function up at each call, as there are only some dozens. None if it does not exist.
template <class... Arguments>
std::optional<int> NvmlLibrary::call(const char* function, Arguments... arguments) const {
    void* const address = dlsym(handle_, function);
    if (!address) return std::nullopt;
    return reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
}

template <class... Arguments>
bool NvmlLibrary::succeeds(const char* function, Arguments... arguments) const {
    return call(function, arguments...) == nvml::success;
}

std::optional<NvmlLibrary> NvmlLibrary::load(const std::filesystem::path& path,
                                             std::string& why_not) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        why_not = "the driver's library " + path.filename().string() + " is not installed";
        return std::nullopt;
    }
    NvmlLibrary library(handle);
    const auto status = library.call("nvmlInit_v2");
    if (status == nvml::success) return library;
    why_not =
        status ? "the driver's library does not start (NVML error " + std::to_string(*status) + ")"
               : "the driver's library is too old";
    return std::nullopt;
}

NvmlLibrary::~NvmlLibrary() {
    if (!handle_) return;
    call("nvmlShutdown");
    dlclose(handle_);
}

NvmlLibrary::NvmlLibrary(NvmlLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

NvmlLibrary& NvmlLibrary::operator=(NvmlLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

int NvmlLibrary::devices() const {
    unsigned count = 0;
    return succeeds("nvmlDeviceGetCount_v2", &count) ? static_cast<int>(count) : 0;
}

std::optional<nvml::Device> NvmlLibrary::device(int index) const {
    nvml::Device device = nullptr;
    if (!succeeds("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(index), &device))
        return std::nullopt;
    return device;
}

std::optional<nvml::PciInfo> NvmlLibrary::pci(nvml::Device device) const {
    nvml::PciInfo info{};
    if (!succeeds("nvmlDeviceGetPciInfo_v3", device, &info)) return std::nullopt;
    return info;
}

std::string NvmlLibrary::name(nvml::Device device) const {
    char name[96] = {};
    if (!succeeds("nvmlDeviceGetName", device, &name[0], unsigned{sizeof name})) return "";
    name[sizeof name - 1] = 0;
    return name;
}

std::optional<int> NvmlLibrary::compute_capability(nvml::Device device) const {
    int major = 0, minor = 0;
    if (!succeeds("nvmlDeviceGetCudaComputeCapability", device, &major, &minor))
        return std::nullopt;
    return 10 * major + minor;
}

std::optional<int> NvmlLibrary::max_pcie_generation(nvml::Device device) const {
    unsigned generation = 0;
    if (!succeeds("nvmlDeviceGetMaxPcieLinkGeneration", device, &generation)) return std::nullopt;
    return static_cast<int>(generation);
}

std::optional<int> NvmlLibrary::max_pcie_width(nvml::Device device) const {
    unsigned width = 0;
    if (!succeeds("nvmlDeviceGetMaxPcieLinkWidth", device, &width)) return std::nullopt;
    return static_cast<int>(width);
}

bool NvmlLibrary::has_mig_instances(nvml::Device device) const {
    unsigned current = 0, pending = 0;
    return succeeds("nvmlDeviceGetMigMode", device, &current, &pending) && current == 1;
}

// Newer drivers report it as a field, older ones by a separate function.
bool NvmlLibrary::link_is_up(nvml::Device device, unsigned link) const {
    if (field(device, nvml::nvlink_state, link) == 1) return true;
    int state = 0;
    return succeeds("nvmlDeviceGetNvLinkState", device, link, &state) && state == 1;
}

bool NvmlLibrary::link_may_carry_peers(nvml::Device device, unsigned link) const {
    constexpr int peers = 0;
    unsigned can = 0;
    const auto status = call("nvmlDeviceGetNvLinkCapability", device, link, peers, &can);
    return status && *status == nvml::success && can != 0;
}

std::optional<nvml::PciInfo> NvmlLibrary::link_remote(nvml::Device device, unsigned link) const {
    nvml::PciInfo info{};
    if (!succeeds("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &info)) return std::nullopt;
    return info;
}

std::optional<double> NvmlLibrary::field(nvml::Device device, nvml::Field field,
                                         unsigned scope) const {
    nvml::FieldValue answer{};
    answer.field = field;
    answer.scope = scope;
    if (!succeeds("nvmlDeviceGetFieldValues", device, 1, &answer)) return std::nullopt;
    if (answer.status != nvml::success) return std::nullopt;
    enum { real, u32, u64_as_long, u64, s64 };
    switch (answer.type) {
        case real:
            return answer.value.real;
        case u32:
            return answer.value.u32;
        case u64_as_long:
        case u64:
            return static_cast<double>(answer.value.u64);
        case s64:
            return static_cast<double>(answer.value.s64);
        default:
            return std::nullopt;
    }
}

std::optional<std::int64_t> NvmlLibrary::energy_mj(nvml::Device device) const {
    unsigned long long millijoules = 0;
    if (!succeeds("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules)) return std::nullopt;
    return static_cast<std::int64_t>(millijoules);
}

// Older drivers have another name for the function.
std::uint64_t NvmlLibrary::slowdown_reasons(nvml::Device device) const {
    unsigned long long reasons = 0;
    if (succeeds("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons) ||
        succeeds("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons))
        return reasons;
    return 0;
}

std::int64_t NvmlLibrary::ecc_errors(nvml::Device device, nvml::Ecc kind) const {
    constexpr int since_start = 0;
    unsigned long long errors = 0;
    if (!succeeds("nvmlDeviceGetTotalEccErrors", device, static_cast<int>(kind), since_start,
                  &errors))
        return 0;
    return static_cast<std::int64_t>(errors);
}

std::optional<bool> NvmlLibrary::reaches(nvml::Device from, nvml::Device to) const {
    constexpr int read = 0;
    int status = 0;  // 0: yes; else a reason
    constexpr int unknown = 6;
    if (!succeeds("nvmlDeviceGetP2PStatus", from, to, read, &status)) return std::nullopt;
    if (status == unknown) return std::nullopt;
    return status == 0;
}

}  // namespace tutti
