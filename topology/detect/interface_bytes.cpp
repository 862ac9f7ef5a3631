// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/interface_bytes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

// Reads lines "eth0: rx_bytes, 7 more numbers, tx_bytes, 7 more numbers"; two headings come first.
std::vector<InterfaceBytes> of_interfaces(const std::filesystem::path& root) {
    std::vector<InterfaceBytes> all;
    for (const auto& [name, counters] : sysfs::keyed_lines(root / "proc/net/dev")) {
        InterfaceBytes each{.name = name};
        std::istringstream numbers(counters);
        std::int64_t skipped = 0;
        numbers >> each.rx;
        for (int i = 0; i < 7; ++i) numbers >> skipped;
        numbers >> each.tx;
        if (numbers && each.name != "lo") all.push_back(std::move(each));
    }
    const auto has_no_device = [&](const InterfaceBytes& each) {
        std::error_code none;
        return !std::filesystem::exists(root / "sys/class/net" / each.name / "device", none);
    };
    if (!std::ranges::all_of(all, has_no_device)) std::erase_if(all, has_no_device);
    return all;
}

// Converts a counter of an RDMA port, which counts words of 4 bytes; none if it overflows.
std::optional<std::int64_t> bytes_of_words(const sysfs::Path& counter) {
    constexpr std::int64_t bytes_of_word = 4;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / bytes_of_word;
    const auto words = sysfs::number(counter);
    if (!words || *words < 0 || *words > most) return std::nullopt;
    return *words * bytes_of_word;
}

std::vector<InterfaceBytes> of_rdma_ports(const std::filesystem::path& root) {
    std::vector<InterfaceBytes> all;
    const auto devices = root / "sys/class/infiniband";
    for (const std::string& device : sysfs::entries(devices))
        for (const std::string& port : sysfs::entries(devices / device / "ports")) {
            const auto counters = devices / device / "ports" / port / "counters";
            const auto tx = bytes_of_words(counters / "port_xmit_data");
            const auto rx = bytes_of_words(counters / "port_rcv_data");
            if (tx && rx) all.push_back({device + "/" + port, *tx, *rx});
        }
    return all;
}

}  // namespace

std::vector<InterfaceBytes> interface_bytes(const std::filesystem::path& root) {
    auto all = of_interfaces(root);
    for (auto& port : of_rdma_ports(root)) all.push_back(std::move(port));
    return all;
}

}  // namespace tutti
