// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of the fuzzers.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/source.hpp"

namespace tutti {

inline void demand(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what.c_str());
    std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

inline void demand_one_line(const Error& error) {
    const std::string text = error.what();
    demand(!text.empty() && text.find('\n') == std::string::npos, "one line: " + text);
}

/// Requires an error "NAME:LINE: text".
inline void demand_place(const Error& error, const std::string& name) {
    const std::string text = error.what();
    demand_one_line(error);
    demand(text.starts_with(name + ":") && text.size() > name.size() + 1 &&
               text[name.size() + 1] >= '1' && text[name.size() + 1] <= '9',
           text);
}

/// A folder in memory, for functions that read files by name.
class FolderInMemory {
public:
    explicit FolderInMemory(const char* name)
        : path_(std::filesystem::path(std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") /
                ("tutti-fuzz-" + std::string(name) + "-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~FolderInMemory() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    FolderInMemory(const FolderInMemory&) = delete;
    FolderInMemory& operator=(const FolderInMemory&) = delete;

    const std::filesystem::path& path() const { return path_; }

    /// Writes the text to a file and returns its path.
    std::string file(const std::string& name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
        return file.string();
    }

    /// Writes one file, or a file for each rank if zero bytes separate several texts (at most 4).
    /// Returns the paths with commas between them.
    std::string files_of_ranks(std::string_view text) const {
        const auto texts = split(text, '\0');
        if (texts.size() == 1) return file("trace.jsonl", text);
        std::string list;
        for (std::size_t rank = 0; rank < std::min<std::size_t>(texts.size(), 4); ++rank)
            list +=
                (rank == 0 ? "" : ",") + file("rank" + std::to_string(rank) + ".json", texts[rank]);
        return list;
    }

private:
    std::filesystem::path path_;
};

}  // namespace tutti
