// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti::machines {

/// Hosts from published data of vendors and of users of NCCL and RCCL: link counts, PCIe
/// generations, processors. Bandwidths of links come from link_speeds.hpp.

inline const CpuIdentity broadwell{"x86_64", "GenuineIntel", 6, 0x4f};        // sockets: 6 GB/s
inline const CpuIdentity skylake{"x86_64", "GenuineIntel", 6, 0x55};          // 10
inline const CpuIdentity sapphire_rapids{"x86_64", "GenuineIntel", 6, 0x8f};  // 22
inline const CpuIdentity rome{"x86_64", "AuthenticAMD", 143, 49};             // 16
inline const CpuIdentity power9{"ppc64le", "IBM", 0, 0};                      // 32

inline constexpr PcieLink gen3_x16{8, 16};   // 12 GB/s
inline constexpr PcieLink gen4_x16{16, 16};  // 24
inline constexpr PcieLink gen5_x16{32, 16};  // 48

inline int add_switch(Host& host, int numa_node, PcieLink link, std::optional<int> above = {}) {
    host.pcie_switches.push_back({.pci_address = fmt::format("0000:f{}", host.pcie_switches.size()),
                                  .above = above,
                                  .numa_node = numa_node,
                                  .link = link});
    return static_cast<int>(host.pcie_switches.size()) - 1;
}

inline int add_gpu(Host& host, int numa_node, PcieLink link, std::optional<int> above,
                   int compute_capability = 0) {
    host.devices.push_back({.kind = DeviceKind::gpu,
                            .numa_node = numa_node,
                            .above = above,
                            .link = link,
                            .compute_capability = compute_capability});
    return static_cast<int>(host.devices.size()) - 1;
}

inline void add_nic(Host& host, int numa_node, PcieLink link, std::optional<int> above,
                    double gigabits, int ports = 1) {
    Device nic{.kind = DeviceKind::nic, .numa_node = numa_node, .above = above, .link = link};
    int before = 0;
    for (const Device& device : host.devices) before += static_cast<int>(device.ports.size());
    for (int port = 0; port < ports; ++port)
        nic.ports.push_back({fmt::format("mlx5_{}", before + port), gigabits});
    host.devices.push_back(nic);
}

constexpr LinkEnd device(int index) { return {LinkEnd::Kind::device, index}; }

inline void join(Host& host, LinkKind kind, int a, int b, int count, double bandwidth_GBps = 0) {
    host.links.push_back({.kind = kind,
                          .a = device(a),
                          .b = device(b),
                          .count = count,
                          .bandwidth_GBps = bandwidth_GBps});
}

/// Eight V100, six NVLinks each; two GPUs and a 100 Gbit/s NIC under each of four switches.
inline Host dgx1() {
    Host host{.name = "dgx1", .cpu = broadwell};
    for (int pair = 0; pair < 4; ++pair) {
        const int above = add_switch(host, pair / 2, gen3_x16);
        add_gpu(host, pair / 2, gen3_x16, above, 70);
        add_gpu(host, pair / 2, gen3_x16, above, 70);
    }
    for (int pair = 0; pair < 4; ++pair) add_nic(host, pair / 2, gen3_x16, pair, 100);
    constexpr std::array<std::array<int, 3>, 16> nvlinks{{{0, 1, 1},
                                                          {0, 2, 1},
                                                          {0, 3, 2},
                                                          {0, 4, 2},
                                                          {1, 2, 2},
                                                          {1, 3, 1},
                                                          {1, 5, 2},
                                                          {2, 3, 2},
                                                          {2, 6, 1},
                                                          {3, 7, 1},
                                                          {4, 5, 1},
                                                          {4, 6, 1},
                                                          {4, 7, 2},
                                                          {5, 6, 2},
                                                          {5, 7, 1},
                                                          {6, 7, 2}}};
    for (const auto& [a, b, count] : nvlinks) join(host, LinkKind::nvlink, a, b, count);
    return host;
}

/// GPUs on one NVSwitch plane, with a switch for each `per_switch` GPUs and one NIC under each.
inline Host nvswitch_host(int gpus, int links, int compute_capability, const CpuIdentity& cpu,
                          PcieLink pcie, int per_switch, double nic_gigabits) {
    Host host{.name = "nvswitch", .cpu = cpu};
    for (int gpu = 0; gpu < gpus; ++gpu) {
        const int numa_node = gpu / (gpus / 2);
        if (gpu % per_switch == 0) add_switch(host, numa_node, pcie);
        add_gpu(host, numa_node, pcie, gpu / per_switch, compute_capability);
    }
    host.devices.push_back({.kind = DeviceKind::nvswitch});
    const int nvswitch = gpus;
    for (int gpu = 0; gpu < gpus; ++gpu) join(host, LinkKind::nvlink, gpu, nvswitch, links);
    for (int s = 0; s < gpus / per_switch; ++s)
        add_nic(host, s / (gpus / per_switch / 2), pcie, s, nic_gigabits);
    return host;
}

inline Host dgx2() { return nvswitch_host(16, 6, 70, skylake, gen3_x16, 2, 100); }
inline Host dgx_a100() { return nvswitch_host(8, 12, 80, rome, gen4_x16, 2, 200); }
inline Host dgx_h100() { return nvswitch_host(8, 18, 90, sapphire_rapids, gen5_x16, 1, 400); }

/// Eight GCDs of MI250X, each with links to three others; one link per pair, as in RCCL.
inline Host mi250x() {
    Host host{.name = "mi250x", .cpu = {"x86_64", "AuthenticAMD", 175, 48}};
    for (int gpu = 0; gpu < 8; ++gpu) add_gpu(host, gpu / 2, gen4_x16, {});
    constexpr std::array<std::pair<int, int>, 12> xgmi{{{0, 1},
                                                        {0, 2},
                                                        {0, 6},
                                                        {1, 3},
                                                        {1, 5},
                                                        {2, 3},
                                                        {2, 4},
                                                        {3, 7},
                                                        {4, 5},
                                                        {4, 6},
                                                        {5, 7},
                                                        {6, 7}}};
    for (const auto& [a, b] : xgmi) join(host, LinkKind::xgmi, a, b, 1, 36);
    return host;
}

/// Eight MI100: two quads, each joined all to all; PCIe switches of two GPUs on four NUMA nodes.
inline Host two_xgmi_islands() {
    Host host{.name = "mi100", .cpu = rome};
    for (int gpu = 0; gpu < 8; ++gpu) {
        if (gpu % 2 == 0) add_switch(host, gpu / 2, gen4_x16);
        add_gpu(host, gpu / 2, gen4_x16, gpu / 2);
    }
    for (int quad = 0; quad < 8; quad += 4)
        for (int a = quad; a < quad + 4; ++a)
            for (int b = a + 1; b < quad + 4; ++b) join(host, LinkKind::xgmi, a, b, 1, 24);
    return host;
}

/// Lassen: on each POWER9 two V100, joined by three NVLinks to one another and to the processor.
inline Host lassen() {
    Host host{.name = "lassen", .cpu = power9};
    for (int gpu = 0; gpu < 4; ++gpu) add_gpu(host, gpu / 2 * 8, {8, 2}, {}, 70);
    for (int gpu = 0; gpu < 4; ++gpu)
        host.links.push_back({.kind = LinkKind::nvlink,
                              .a = device(gpu),
                              .b = {LinkEnd::Kind::numa_node, gpu / 2 * 8},
                              .count = 3});
    join(host, LinkKind::nvlink, 0, 1, 3);
    join(host, LinkKind::nvlink, 2, 3, 3);
    add_nic(host, 0, {16, 8}, {}, 100);
    add_nic(host, 8, {16, 8}, {}, 100);
    return host;
}

/// Eight GPUs without NVLink on two sockets, two under each switch. `place` has the place of each
/// GPU, as the numbering may differ from the wiring.
inline Host pcie_only(const std::vector<int>& place = {0, 1, 2, 3, 4, 5, 6, 7}) {
    Host host{.name = "pcie", .cpu = skylake};
    for (int s = 0; s < 4; ++s) add_switch(host, s / 2, gen3_x16);
    for (const int p : place) add_gpu(host, p / 4, gen3_x16, p / 2, 75);
    return host;
}

/// GPUs with only PCIe links to one processor.
inline Host plain_gpus(int gpus) {
    Host host{.name = "plain", .cpu = rome};
    for (int gpu = 0; gpu < gpus; ++gpu) add_gpu(host, 0, gen4_x16, {}, 80);
    return host;
}

}  // namespace tutti::machines
