// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {

/// The files of one PCI function; empty texts make no file.
struct PciFiles {
    std::string address, pci_class, vendor, device, numa_node;
    std::string speed = "", width = "";  ///< "16.0 GT/s PCIe" and "16"
};

/// Writes the function below the bridges `above` ("0000:00:01.0/0000:01:00.0") and its link on the
/// bus. Returns its folder.
inline std::string write_device(const FixtureTree& tree, const PciFiles& files,
                                const std::string& above = "") {
    namespace fs = std::filesystem;
    const std::string inside =
        "devices/pci0000:00/" + (above.empty() ? "" : above + "/") + files.address;
    const std::string folder = "sys/" + inside + "/";
    tree.make_folder(folder);
    const auto write = [&](const char* name, const std::string& text) {
        if (!text.empty()) tree.write(folder + name, text);
    };
    write("class", files.pci_class);
    write("vendor", files.vendor);
    write("device", files.device);
    write("numa_node", files.numa_node);
    write("max_link_speed", files.speed);
    write("max_link_width", files.width);
    tree.make_folder("sys/bus/pci/devices");
    fs::create_directory_symlink("../../../" + inside,
                                 tree.root() / "sys/bus/pci/devices" / files.address);
    return folder;
}

}  // namespace tutti
