// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace tutti {

/// What went wrong on each network interface ("eth0") and RDMA port ("mlx5_0/1") since it came up:
/// frames that were damaged or lost, links that failed. The loopback has none.
std::map<std::string, std::int64_t> link_errors(const std::filesystem::path& root);

}  // namespace tutti
