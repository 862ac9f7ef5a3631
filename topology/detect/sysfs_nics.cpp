// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "topology/detect/sysfs_devices.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// Interfaces of virtio NICs are one folder deeper.
std::vector<Path> interface_folders(const Path& device) {
    std::vector<Path> parents{device / "net"}, folders;
    for (const std::string& entry : sysfs::entries(device))
        if (entry.starts_with("virtio")) parents.push_back(device / entry / "net");
    for (const Path& parent : parents)
        for (const std::string& name : sysfs::entries(parent)) folders.push_back(parent / name);
    return folders;
}

bool flag_up(const Path& interface) {
    const std::string flags = sysfs::first_line(interface / "flags").value_or("0");
    return (std::strtol(flags.c_str(), nullptr, 16) & 1) != 0;
}

// Returns Gb/s. The file has Mb/s, -1 if the driver does not know it, and is unreadable without a
// link.
double speed_of(const Path& interface) {
    const auto speed = sysfs::number(interface / "speed").value_or(0);
    return speed > 0 ? static_cast<double>(speed) / 1000 : 0;
}

// Reads the files "4: ACTIVE" and "100 Gb/sec (4X EDR)".
double rate_of(const Path& port) {
    const std::string state = sysfs::first_line(port / "state").value_or("");
    if (state.find("DOWN") != std::string::npos) return 0;
    return sysfs::leading_number(port / "rate");
}

// Finds the interface of a port by the port's file or else by its number.
const Path* interface_of(const Path& port, int number, const std::vector<Path>& interfaces) {
    const auto named = sysfs::first_line(port / "gid_attrs/ndevs/0");
    const int from_0 = number - 1;  // interfaces count ports from 0
    const auto found = std::ranges::find_if(interfaces, [&](const Path& interface) {
        return named && !named->empty()
                   ? interface.filename() == *named
                   : sysfs::number(interface / "dev_port").value_or(0) == from_0;
    });
    return found == interfaces.end() ? nullptr : &*found;
}

// Interfaces that are part of others or composed of others do not represent a NIC.
bool is_independent(const Path& interface) {
    std::error_code none;
    for (const char* sign : {"master", "brport", "bridge", "bonding", "tun_flags"})
        if (std::filesystem::exists(std::filesystem::symlink_status(interface / sign, none)))
            return false;
    return std::ranges::none_of(sysfs::entries(interface), [](const std::string& entry) {
        return entry.starts_with("lower_") || entry.starts_with("upper_");
    });
}

bool is_virtual(const Path& interface) {
    std::error_code none;
    const Path place = std::filesystem::canonical(interface, none);
    return place.string().find("/devices/virtual/") != std::string::npos;
}

// Accepts Ethernet and InfiniBand, but no loopback (772) and no tunnel.
bool carries_messages(const Path& interface) {
    const auto type = sysfs::number(interface / "type");
    return type == 1 || type == 32;
}

std::vector<std::string> interfaces_of_this_process(const Path& root) {
    std::vector<std::string> names;
    for (const auto& [name, counters] : sysfs::keyed_lines(root / "proc/net/dev"))
        names.push_back(name);
    return names;
}

std::string default_route(const Path& root) {
    for (const std::string& line : sysfs::lines_of(root / "proc/net/route")) {
        std::istringstream fields(line);
        std::string interface, destination;
        if (fields >> interface >> destination && destination == "00000000") return interface;
    }
    return "";
}

}  // namespace

std::vector<std::string> interface_names(const Path& device) {
    std::vector<std::string> names;
    for (const Path& interface : interface_folders(device)) names.push_back(interface.filename());
    for (const std::string& name : sysfs::entries(device / "infiniband")) names.push_back(name);
    return names;
}

std::vector<Port> read_ports(const Path& device) {
    std::vector<Path> interfaces = interface_folders(device);
    std::vector<Port> ports;
    for (const std::string& name : sysfs::entries(device / "infiniband")) {
        const Path folder = device / "infiniband" / name / "ports";
        const std::vector<int> numbers = sysfs::numbered(folder, "");
        for (const int number : numbers) {
            const Path port = folder / std::to_string(number);
            double gigabits = rate_of(port);
            if (const Path* interface = interface_of(port, number, interfaces)) {
                if (gigabits <= 0) gigabits = speed_of(*interface);
                std::erase(interfaces, Path(*interface));
            }
            const bool has_one_port = numbers.size() == 1;
            ports.push_back({has_one_port ? name : name + ":" + std::to_string(number), gigabits});
        }
    }
    for (const Path& interface : interfaces)
        ports.push_back({interface.filename(), speed_of(interface)});
    return ports;
}

std::vector<Device> read_virtual_nics(const Path& root, bool has_nic) {
    const std::vector<std::string> ours = interfaces_of_this_process(root);
    const std::string route = default_route(root);
    std::vector<Device> nics;
    for (const std::string& name : sysfs::entries(root / "sys/class/net")) {
        const Path interface = root / "sys/class/net" / name;
        const bool wanted = has_nic ? name == route : is_independent(interface);
        const bool here = ours.empty() || std::ranges::find(ours, name) != ours.end();
        if (!wanted || !here || !is_virtual(interface)) continue;
        if (!is_independent(interface) || !carries_messages(interface) || !flag_up(interface))
            continue;
        nics.push_back({.kind = DeviceKind::nic,
                        .names = {name},
                        .model = std::string(virtual_interface),
                        .ports = {{name, 0}}});
    }
    return nics;
}

std::vector<std::string> interfaces_not_in_sysfs(const Path& root) {
    std::vector<std::string> missing;
    const std::vector<std::string> listed = sysfs::entries(root / "sys/class/net");
    for (const std::string& name : interfaces_of_this_process(root))
        if (name != "lo" && std::ranges::find(listed, name) == listed.end())
            missing.push_back(name);
    return missing;
}

}  // namespace tutti
