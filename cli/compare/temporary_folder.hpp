// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "cli/ranks/interruption.hpp"

namespace tutti {

/// A folder that goes with this object, or with the process that a signal ends, for what nobody
/// asked to keep; no other user can read or guess it.
class TemporaryFolder {
public:
    /// Throws Error if none can be made.
    TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "tutti-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr)
            throw Error("no folder for results can be made in " +
                        std::filesystem::temp_directory_path().string() + "; add --json FILE");
        goes_with_us_.emplace(path_.c_str());
    }
    ~TemporaryFolder() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file() const { return path_ + "/results.jsonl"; }

private:
    std::string path_;
    std::optional<GoesWithUs> goes_with_us_;
};

}  // namespace tutti
