// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace tutti {

/// A folder of small files that replaces the root of a machine; removed by the destructor.
class FixtureTree {
public:
    FixtureTree() {
        std::string folder = std::filesystem::temp_directory_path() / "tutti-fixture-XXXXXX";
        if (!mkdtemp(folder.data())) throw std::runtime_error("cannot create " + folder);
        root_ = folder;
    }
    ~FixtureTree() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    FixtureTree(const FixtureTree&) = delete;
    FixtureTree& operator=(const FixtureTree&) = delete;

    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text << '\n';
    }

    void make_folder(const std::string& folder) const {
        std::filesystem::create_directories(root_ / folder);
    }

    /// Creates a symbolic link to `target`, relative to its place as the kernel's are.
    void link(const std::string& name, const std::string& target) const {
        std::filesystem::create_directories((root_ / name).parent_path());
        std::filesystem::create_symlink(target, root_ / name);
    }

    const std::filesystem::path& root() const { return root_; }

private:
    std::filesystem::path root_;
};

}  // namespace tutti
