// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tutti {

/// An open file, closed by its destructor; `number` is negative if opening failed.
struct OpenFile {
    explicit OpenFile(int descriptor) : number(descriptor) {}
    OpenFile(const std::string& path, int flags)
        : number(::open(path.c_str(), flags | O_CLOEXEC)) {}
    OpenFile(OpenFile&& other) noexcept : number(std::exchange(other.number, -1)) {}
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile() {
        if (number >= 0) ::close(number);
    }
    explicit operator bool() const { return number >= 0; }

    int number;
};

/// Opens a file that another process of this host has open, by its process and descriptor numbers.
/// The caller must check the result: the numbers may have been reused, or belong to another
/// container.
inline OpenFile file_of_process(std::int64_t process, std::int64_t descriptor) {
    return {"/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor), O_RDWR};
}

}  // namespace tutti
