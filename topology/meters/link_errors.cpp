// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/link_errors.hpp"

#include <span>

#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// Not rx_dropped: it has every frame of a protocol that nobody here speaks.
constexpr const char* of_interface[] = {"rx_errors", "tx_errors", "rx_missed_errors", "tx_dropped"};
constexpr const char* of_rdma_port[] = {"symbol_error",
                                        "link_error_recovery",
                                        "link_downed",
                                        "port_rcv_errors",
                                        "port_xmit_discards",
                                        "local_link_integrity_errors",
                                        "excessive_buffer_overrun_errors"};

std::int64_t sum_of(const Path& folder, std::span<const char* const> counters) {
    std::int64_t sum = 0;
    for (const char* counter : counters) sum += sysfs::number(folder / counter).value_or(0);
    return sum;
}

}  // namespace

std::map<std::string, std::int64_t> link_errors(const Path& root) {
    std::map<std::string, std::int64_t> errors;
    const Path interfaces = root / "sys/class/net", devices = root / "sys/class/infiniband";
    for (const std::string& name : sysfs::entries(interfaces))
        if (name != "lo") errors[name] = sum_of(interfaces / name / "statistics", of_interface);
    for (const std::string& device : sysfs::entries(devices))
        for (const std::string& port : sysfs::entries(devices / device / "ports"))
            errors[device + "/" + port] =
                sum_of(devices / device / "ports" / port / "counters", of_rdma_port);
    return errors;
}

}  // namespace tutti
