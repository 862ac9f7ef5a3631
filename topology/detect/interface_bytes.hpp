// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tutti {

/// Bytes that a network interface has sent and received since it came up, headers included.
struct InterfaceBytes {
    std::string name;  ///< "eth0"; a port of an RDMA device: "mlx5_0/1"
    std::int64_t tx = 0;
    std::int64_t rx = 0;

    bool operator==(const InterfaceBytes&) const = default;
};

/// Returns the counters of the interfaces that have a device (if none has one, of all but the
/// loopback), in the kernel's order, so that traffic over a bridge or bond is not counted twice.
/// Then the ports of RDMA devices, as interfaces do not count RDMA. Takes some 50 microseconds.
/// `root` is
/// "/" or a folder with a copy of another machine's /proc and /sys.
std::vector<InterfaceBytes> interface_bytes(const std::filesystem::path& root = "/");

}  // namespace tutti
