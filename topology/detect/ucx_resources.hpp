// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace tutti {

/// What UCX would send over from here, as "transport/device" ("rc_mlx5/mlx5_0:1", "tcp/eth0"), in
/// its order and as its settings (UCX_TLS, UCX_NET_DEVICES) allow. One file of two is built:
/// ucx_resources.cpp, or ucx_resources_absent.cpp where UCX is. Takes milliseconds.
struct UcxResources {
    std::vector<std::string> transports;
    std::string why_none;  ///< where there are none
};
UcxResources ucx_resources();

/// What this process has too little of for UCX to start, and how to allow more; empty if there is
/// enough. UCX ends the process where something runs out while it makes a context or a worker.
std::string missing_for_ucx();

/// Those transports from the text that UCX prints of a context.
std::vector<std::string> ucx_resources_in(const std::string& text);

}  // namespace tutti
