// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/link_speeds.hpp"

#include <algorithm>
#include <string>

#include "base/index.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

struct Step {
    double from;  // smallest key of this row
    double value;
};

// Returns the value of the last row with `from` <= key; `table` is ascending.
template <std::size_t n>
double last_reached(const Step (&table)[n], double key, double default_value) {
    double found = default_value;
    for (const Step& row : table)
        if (key >= row.from) found = row.value;
    return found;
}

// Data rate of one lane: without headers, and without 8b/10b encoding in generations 1 and 2.
constexpr Step pcie_lane[] = {{2.5, 0.1875}, {5, 0.375}, {8, 0.75}, {16, 1.5}, {32, 3}, {64, 6}};

constexpr Step nvlink[] = {{60, 18}, {70, 20}, {80, 20}, {86, 12}, {90, 20.6}, {100, 40.1}};

constexpr Step nvlinks_of_gpu[] = {{60, 4}, {70, 6}, {80, 12}, {86, 4}, {90, 18}};

// Intel's family 6 by model: Broadwell and older, Skylake, Sapphire Rapids, Emerald Rapids.
constexpr Step intel_sockets[] = {{0, 6}, {0x55, 10}, {0x8f, 22}, {0xcf, 40}};

}  // namespace

double pcie_GBps(PcieLink link) {
    const double lane = last_reached(pcie_lane, link.gigatransfers, 0.75);
    return lane * (link.lanes > 0 ? link.lanes : 16);
}

double nvlink_GBps(int compute_capability) { return last_reached(nvlink, compute_capability, 20); }

int most_nvlinks(int compute_capability) {
    constexpr int newest = 18;
    if (compute_capability == 0) return newest;
    return static_cast<int>(last_reached(nvlinks_of_gpu, compute_capability, 0));
}

double xgmi_GBps(std::string_view gpu) {
    if (gpu == "gfx906" || gpu == "gfx908") return 24;
    if (gpu == "gfx90a") return 36;
    return 48;
}

double bandwidth_GBps_of(const Link& link, const Host& host) {
    if (link.bandwidth_GBps > 0) return link.bandwidth_GBps;
    int capability = 0;
    std::string gfx;
    for (const LinkEnd& end : {link.a, link.b}) {
        if (end.kind != LinkEnd::Kind::device) continue;
        const Device& device = host.devices.at(as_size(end.index));
        capability = std::max(capability, device.compute_capability);
        if (gfx.empty())
            gfx =
                device.model.starts_with("gfx") ? device.model : instruction_set_of(device.pci_id);
    }
    return link.count * (link.kind == LinkKind::xgmi ? xgmi_GBps(gfx) : nvlink_GBps(capability));
}

double socket_GBps(const CpuIdentity& cpu) {
    if (cpu.architecture == "aarch64" || cpu.architecture == "arm64") return 6;
    if (cpu.architecture.starts_with("ppc")) return 32;
    if (cpu.vendor == "GenuineIntel") return last_reached(intel_sockets, cpu.model, 6);
    if (cpu.vendor == "AuthenticAMD" || cpu.vendor == "HygonGenuine") return 16;
    if (cpu.vendor == "CentaurHauls" || cpu.vendor.find("Shanghai") != std::string::npos) return 6;
    return 16;  // NCCL assumes no limit here, which would make sockets look free
}

}  // namespace tutti
