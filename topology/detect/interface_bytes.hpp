// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tutti {

/// What a network interface has sent and received since it came up, headers included.
struct InterfaceBytes {
    std::string name;  ///< "eth0"; a port of an RDMA device: "mlx5_0/1"
    std::int64_t tx = 0;
    std::int64_t rx = 0;

    bool operator==(const InterfaceBytes&) const = default;
};

/// The counters of the interfaces through which this host (or container: its network namespace) is
/// reached, in the kernel's order: those with a device behind them; where none has one, all but the
/// loopback. So nothing counts twice because a bridge or a bond passes it on. Ports of RDMA devices
/// follow, as what they move by RDMA is not in their interface's counters. Takes some 50
/// microseconds. `root` is "/", or a folder that holds a copy of another machine's /proc and /sys.
std::vector<InterfaceBytes> interface_bytes(const std::filesystem::path& root = "/");

}  // namespace tutti
