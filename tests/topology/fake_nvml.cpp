// SPDX-License-Identifier: Apache-2.0
// A library with NVML's interface that describes an invented machine, read from the file FAKE_NVML
// when it starts. Its lines are
//   gpu ADDRESS VENDOR_AND_DEVICE MAJOR MINOR NAME
//   links GPU COUNT ADDRESS MEGABYTES     (COUNT links from GPU to ADDRESS)
//   c2c GPU COUNT MEGABYTES
//   mig GPU
//   unreachable GPU GPU
//   unasked GPU GPU
//   energy GPU MILLIJOULES STEP           (STEP more in each reading)
//   slowed GPU BITS                       (hexadecimal)
//   ecc GPU CORRECTED UNCORRECTED
//   deaf GPU                              (all functions fail for it)
//   fails FUNCTION                        (always returns "unknown error")
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "topology/detect/nvml_library.hpp"

namespace {

using namespace tutti::nvml;
constexpr int invalid_argument = 2, not_supported = 3, unknown_error = 999;

struct FakeLink {
    std::string address;
    unsigned megabytes;
};

struct FakeGpu {
    std::string address, name;
    unsigned id = 0;
    int major = 0, minor = 0;
    std::vector<FakeLink> links;
    unsigned c2c = 0, c2c_megabytes = 0;
    bool mig = false, deaf = false;
    unsigned long long energy = 0, energy_step = 0, slowed = 0;
    unsigned long long ecc[2] = {0, 0};
};

std::vector<FakeGpu> gpus;
std::set<std::pair<int, int>> unreachable, unasked;
std::set<std::string> failing;

int index_of(Device device) { return static_cast<int>(reinterpret_cast<std::size_t>(device)) - 1; }
FakeGpu& at(Device device) { return gpus[static_cast<std::size_t>(index_of(device))]; }

int refusal(const char* function) { return failing.contains(function) ? unknown_error : success; }
int refusal(const char* function, Device device) {
    return at(device).deaf ? unknown_error : refusal(function);
}

PciInfo pci_of(const std::string& address, unsigned id) {
    PciInfo info{};
    unsigned function = 0;
    std::sscanf(address.c_str(), "%x:%x:%x.%x", &info.domain, &info.bus, &info.device, &function);
    std::snprintf(info.address, sizeof info.address, "%s", address.c_str());
    info.device_id = id;
    return info;
}

// Writes only 68 bytes, like the real driver.
int give(PciInfo* to, const PciInfo& info) {
    std::memcpy(to, &info, 68);
    return success;
}

void read_line(const std::string& line) {
    std::istringstream words(line);
    std::string word, address;
    std::size_t gpu = 0;
    words >> word;
    if (word == "gpu") {
        FakeGpu fake;
        words >> fake.address >> std::hex >> fake.id >> std::dec >> fake.major >> fake.minor;
        std::getline(words >> std::ws, fake.name);
        gpus.push_back(fake);
    } else if (word == "links") {
        unsigned count = 0, megabytes = 0;
        words >> gpu >> count >> address >> megabytes;
        gpus.at(gpu).links.insert(gpus.at(gpu).links.end(), count, {address, megabytes});
    } else if (word == "c2c") {
        words >> gpu;
        words >> gpus.at(gpu).c2c >> gpus.at(gpu).c2c_megabytes;
    } else if (word == "mig") {
        words >> gpu;
        gpus.at(gpu).mig = true;
    } else if (word == "energy") {
        words >> gpu;
        words >> gpus.at(gpu).energy >> gpus.at(gpu).energy_step;
    } else if (word == "slowed") {
        words >> gpu >> std::hex;
        words >> gpus.at(gpu).slowed;
    } else if (word == "ecc") {
        words >> gpu;
        words >> gpus.at(gpu).ecc[0] >> gpus.at(gpu).ecc[1];
    } else if (word == "deaf") {
        words >> gpu;
        gpus.at(gpu).deaf = true;
    } else if (word == "unreachable") {
        int a = 0, b = 0;
        words >> a >> b;
        unreachable.insert({a, b});
        unreachable.insert({b, a});
    } else if (word == "unasked") {
        int a = 0, b = 0;
        words >> a >> b;
        unasked.insert({a, b});
    } else if (word == "fails") {
        words >> address;
        failing.insert(address);
    }
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    gpus.clear();
    unreachable.clear();
    unasked.clear();
    failing.clear();
    std::ifstream file(std::getenv("FAKE_NVML"));
    for (std::string line; std::getline(file, line);) read_line(line);
    return refusal("nvmlInit_v2");
}

int nvmlShutdown() { return success; }

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = static_cast<unsigned>(gpus.size());
    return refusal("nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    if (index >= gpus.size()) return invalid_argument;
    *device = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1);
    return success;
}

int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
    if (const int code = refusal("nvmlDeviceGetPciInfo_v3", device)) return code;
    return give(info, pci_of(at(device).address, at(device).id));
}

int nvmlDeviceGetName(Device device, char* name, unsigned length) {
    if (const int code = refusal("nvmlDeviceGetName", device)) return code;
    std::snprintf(name, length, "%s", at(device).name.c_str());
    return success;
}

int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
    *major = at(device).major;
    *minor = at(device).minor;
    return refusal("nvmlDeviceGetCudaComputeCapability", device);
}

int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
    *generation = 5;
    return refusal("nvmlDeviceGetMaxPcieLinkGeneration", device);
}

int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
    *width = 16;
    return refusal("nvmlDeviceGetMaxPcieLinkWidth", device);
}

int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
    *current = *pending = at(device).mig ? 1 : 0;
    return refusal("nvmlDeviceGetMigMode", device);
}

int nvmlDeviceGetNvLinkCapability(Device device, unsigned link, int, unsigned* can) {
    if (link >= at(device).links.size()) return invalid_argument;
    *can = 1;
    return refusal("nvmlDeviceGetNvLinkCapability", device);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* info) {
    if (link >= at(device).links.size()) return invalid_argument;
    if (const int code = refusal("nvmlDeviceGetNvLinkRemotePciInfo_v2", device)) return code;
    return give(info, pci_of(at(device).links[link].address, 0));
}

int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
    if (at(device).energy == 0) return not_supported;
    *millijoules = at(device).energy;
    at(device).energy += at(device).energy_step;
    return refusal("nvmlDeviceGetTotalEnergyConsumption", device);
}

int nvmlDeviceGetTotalEccErrors(Device device, int kind, int, unsigned long long* errors) {
    *errors = at(device).ecc[kind];
    return refusal("nvmlDeviceGetTotalEccErrors", device);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
    *reasons = at(device).slowed;
    return refusal("nvmlDeviceGetCurrentClocksThrottleReasons", device);
}

#ifndef FAKE_OLD_DRIVER
int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
    *reasons = at(device).slowed;
    return refusal("nvmlDeviceGetCurrentClocksEventReasons", device);
}

int nvmlDeviceGetP2PStatus(Device a, Device b, int, int* status) {
    *status = unreachable.contains({index_of(a), index_of(b)}) ? 2
              : unasked.contains({index_of(a), index_of(b)})   ? 6
                                                               : 0;
    return refusal("nvmlDeviceGetP2PStatus", a);
}

int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
    if (const int code = refusal("nvmlDeviceGetFieldValues", device)) return code;
    const FakeGpu& gpu = at(device);
    for (FieldValue& value : std::span(values, static_cast<std::size_t>(count))) {
        value.status = success;
        value.type = 1;  // unsigned
        value.value.u64 = 0;
        const bool has_link = value.scope < gpu.links.size();
        if (value.field == nvlink_state && has_link)
            value.value.u32 = 1;
        else if (value.field == nvlink_megabytes_of_link && has_link)
            value.value.u32 = gpu.links[value.scope].megabytes;
        else if (value.field == c2c_count)
            value.value.u32 = gpu.c2c;
        else if (value.field == c2c_status)
            value.value.u32 = value.scope < gpu.c2c;
        else if (value.field == c2c_megabytes)
            value.value.u32 = gpu.c2c_megabytes;
        else
            value.status = not_supported;
    }
    return success;
}
#endif

int nvmlDeviceGetNvLinkState(Device device, unsigned link, int* active) {
    if (link >= at(device).links.size()) return invalid_argument;
    *active = 1;
    return refusal("nvmlDeviceGetNvLinkState", device);
}
}
