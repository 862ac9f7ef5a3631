// SPDX-License-Identifier: Apache-2.0
// A copy of a machine's /proc and /sys: for each file its path, its lines and an empty line.
// Detection always gives a machine that can be used.
#include <cstdint>
#include <filesystem>

#include "base/source.hpp"
#include "tests/fuzz/use_machine.hpp"
#include "topology/detect/detect.hpp"
#include "topology/detect/interface_bytes.hpp"
#include "topology/detect/sysfs.hpp"
#include "topology/detect/sysfs_devices.hpp"

namespace {

using namespace tutti;
namespace fs = std::filesystem;

// Refuses paths outside of the copy.
bool is_inside(const fs::path& path) {
    return path.is_relative() && path.native().find('\0') == std::string::npos &&
           std::ranges::find(path, "..") == path.end();
}

// Adds links to devices of the bus and interfaces, as the kernel does.
void link_devices(const fs::path& root, const fs::path& path) {
    std::error_code there_already;
    fs::path above;
    for (const fs::path& part : path) {
        const bool is_interface = above.filename() == "net";
        const bool is_device = part.native().find(':') != std::string::npos;
        if (is_interface || is_device)
            fs::create_directory_symlink(
                root / above / part,
                root / (is_interface ? "sys/class/net" : "sys/bus/pci/devices") / part,
                there_already);
        above /= part;
    }
}

void write_files(const FolderInMemory& folder, std::string_view text) {
    for (const char* bus : {"sys/bus/pci/devices", "sys/class/net"})
        fs::create_directories(folder.path() / bus);
    while (!text.empty()) {
        const std::string_view block = text.substr(0, text.find("\n\n"));
        text.remove_prefix(std::min(block.size() + 2, text.size()));
        const std::string_view name = block.substr(0, block.find('\n'));
        if (!is_inside(name)) continue;
        std::error_code is_a_file;
        fs::create_directories((folder.path() / name).parent_path(), is_a_file);
        folder.file(std::string(name), block.substr(std::min(name.size() + 1, block.size())));
        if (name.starts_with("sys/devices/")) link_devices(folder.path(), name);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const FolderInMemory folder("root");
    const fs::path& root = folder.path();
    write_files(folder, text_of(data, size));
    constexpr std::size_t enough = 64;  // a dozen files are read for each CPU
    if (sysfs::list(root / "sys/devices/system/cpu/online").size() > enough) return 0;
    use({.hosts = {detect_host_in(root)}, .network = {}});
    interfaces_not_in_sysfs(root);
    for (const InterfaceBytes& interface : interface_bytes(root))
        demand(!interface.name.empty(), "an interface has a name");
    return 0;
}
