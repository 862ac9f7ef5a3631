// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace tutti {

/// The transports that UCX can use here, as "transport/device" ("rc_mlx5/mlx5_0:1", "tcp/eth0"), in
/// UCX's order and as UCX_TLS and UCX_NET_DEVICES allow. One of two files is built:
/// ucx_resources.cpp, or ucx_resources_absent.cpp without UCX. Takes milliseconds.
struct UcxResources {
    std::vector<std::string> transports;
    std::string why_none;  ///< the reason if there are none
};
UcxResources ucx_resources();

/// Returns an error with its cure if this process has too few resources for UCX, else "". UCX
/// aborts the process if resources run out while it creates a context or a worker.
std::string missing_for_ucx();

/// Extracts the transports from UCX's printed description of a context.
std::vector<std::string> ucx_resources_in(const std::string& text);

}  // namespace tutti
