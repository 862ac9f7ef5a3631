// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "results/records/record.hpp"

namespace tutti {

/// A results file open for appending: JSON Lines, one writer at a time.
///
/// Whatever happens (kill -9, a full disk, power loss), the file holds whole records only, or whole
/// records and one torn line at its end, which the next Store moves to FILE.torn. A last record
/// that only lacks its line end gets one.
/// append waits for the disk: never call it between time stamps.
class Store {
public:
    /// Creates the file and its folder if need be. Throws Error if it cannot be written, holds
    /// something else than results, or another process has it open as a Store.
    explicit Store(std::filesystem::path path);
    ~Store();
    Store(Store&& other) noexcept;
    Store& operator=(Store&&) = delete;

    /// Adds one line (given without its newline), or several at once, or leaves the file as it was
    /// and throws Error.
    void append(std::string_view lines);

    template <class AnyRecord>
    requires requires(const AnyRecord& record) { to_json_line(record); }
    void append(const AnyRecord& record) { append(std::string_view(to_json_line(record))); }

    /// Whole records in the file, those of earlier runs included.
    std::size_t records() const { return records_; }
    const std::filesystem::path& path() const { return path_; }
    /// Its descriptor, for what must be written within a signal handler: one line by one write().
    int file() const { return file_; }

private:
    void lock() const;
    void refuse_foreign_file() const;
    void count_records();
    void put_torn_tail_aside();

    std::filesystem::path path_;
    int file_ = -1;
    bool regular_ = true;  // false for /dev/stdout and pipes: nothing to lock, repair or truncate
    long long good_end_ = 0;  // offset after the last whole record
    std::size_t records_ = 0;
};

/// Adds a failure of a session of `path` that another process may be writing: nothing is made,
/// locked or repaired. Does nothing where the file does not hold that session in its last records,
/// as on another host, or holds a failure of it already. Throws Error if it cannot be written.
void append_to_running_session(const std::filesystem::path& path, const Fail& fail);

}  // namespace tutti
