// SPDX-License-Identifier: Apache-2.0
#include "results/records/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "base/encoding.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/open_file.hpp"

namespace tutti {
namespace {

// A signal may come before the first byte; then nothing was written and asking again is right.
ssize_t write_once(int file, std::string_view text) {
    ssize_t written = 0;
    do written = ::write(file, text.data(), text.size());
    while (written < 0 && errno == EINTR);
    return written;
}

bool is_record(const std::string& line) {
    try {
        parse_json_line(line);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::string read_from(int file, off_t offset) {
    std::string text;
    std::array<char, 65536> block;
    for (ssize_t got = 0; (got = ::pread(file, block.data(), block.size(), offset)) > 0;
         offset += got)
        text.append(block.data(), as_size(got));
    return text;
}

}  // namespace

Store::Store(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code failed;
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), failed);
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0)
        throw Error(fmt::format(
            "cannot write results to '{}': {}; use {}", path_.string(), std::strerror(errno),
            errno == EISDIR ? "a file in it, such as results.jsonl" : "another file"));
    struct stat status {};
    ::fstat(file_, &status);
    regular_ = S_ISREG(status.st_mode);
    if (!regular_) return;
    try {
        lock();
        refuse_foreign_file();
        count_records();
        put_torn_tail_aside();
    } catch (...) {
        ::close(file_);
        throw;
    }
}

Store::~Store() {
    if (file_ >= 0) ::close(file_);  // frees the lock
}

Store::Store(Store&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      regular_(other.regular_),
      good_end_(other.good_end_),
      records_(other.records_) {}

// Some network file systems know no locks; there the user makes sure that there is one writer.
void Store::lock() const {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw Error(
            fmt::format("'{}' is being written by another tutti; wait until it ends or "
                        "use another file",
                        path_.string()));
}

// Protects other files: a mistyped name must not lose its last line.
void Store::refuse_foreign_file() const {
    constexpr std::string_view begin_of_record = "{\"v\":";
    std::array<char, 4096> bytes{};
    const ssize_t got = ::pread(file_, bytes.data(), bytes.size(), 0);
    const std::string_view begin(bytes.data(), as_size(std::max<ssize_t>(got, 0)));
    if (is_utf16(begin))
        throw Error(
            fmt::format("'{}' is in UTF-16, and records are added in UTF-8; use iconv -f "
                        "UTF-16 -t UTF-8, or another file name",
                        path_.string()));
    std::string_view first = without_byte_order_mark(begin);
    first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
    // A record torn within its first bytes is still one.
    if (!begin_of_record.starts_with(first.substr(0, begin_of_record.size())))
        throw Error(
            fmt::format("'{}' is not a tutti results file; use another file name", path_.string()));
}

void Store::count_records() {
    off_t offset = 0;
    bool is_blank = true;
    std::array<char, 65536> block;
    for (ssize_t got = 0; (got = ::pread(file_, block.data(), block.size(), offset)) > 0;
         offset += got)
        for (ssize_t i = 0; i < got; ++i)
            if (at(block, i) == '\n') {
                if (!is_blank) ++records_;
                is_blank = true;
                good_end_ = offset + i + 1;
            } else if (at(block, i) == '}') {
                is_blank = false;
            }
}

void Store::put_torn_tail_aside() {
    const std::string tail = read_from(file_, good_end_);
    if (tail.empty()) return;
    if (is_record(tail)) {
        good_end_ += std::ssize(tail);
        return append("");
    }
    const std::string aside = path_.string() + ".torn";
    const int torn = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const bool saved = torn >= 0 && write_once(torn, tail + '\n') == ssize_t(tail.size() + 1) &&
                       ::fdatasync(torn) == 0;
    const int reason = errno;
    if (torn >= 0) ::close(torn);
    if (!saved || ::ftruncate(file_, good_end_) != 0)
        throw Error(fmt::format("'{}' ends in a torn line that cannot be moved to '{}': {}",
                                path_.string(), aside, std::strerror(saved ? errno : reason)));
}

void Store::append(std::string_view lines) {
    struct stat status {};
    if (regular_ && ::fstat(file_, &status) == 0 && status.st_nlink == 0)
        throw Error(
            fmt::format("'{}' was deleted while it was written; its {} records are lost: run again",
                        path_.string(), records_));
    const std::string text = std::string(lines) + '\n';
    const ssize_t written = write_once(file_, text);
    const bool whole = written == static_cast<ssize_t>(text.size());
    // EINVAL: not a thing that can be flushed, such as a pipe.
    if (whole && (::fdatasync(file_) == 0 || errno == EINVAL)) {
        good_end_ += written;
        records_ += as_size(std::ranges::count(text, '\n'));
        return;
    }
    // A full disk takes what fits and says why only at the next write.
    const std::string reason =
        written >= 0 && !whole ? "no space left on the device" : std::strerror(errno);
    const bool mended = !regular_ || ::ftruncate(file_, good_end_) == 0;
    throw Error(fmt::format("cannot add to '{}': {}; its {} records are intact{}", path_.string(),
                            reason, records_,
                            mended ? ". Free some space and run again"
                                   : ", a torn line after them is ignored when reading"));
}

namespace {

// A session as the last records describe it.
struct SessionSeen {
    bool is_there = false;
    bool has_failed = false;
};

SessionSeen look_for(const std::string& session, const std::string& lines) {
    SessionSeen seen;
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
        if (line.find('"' + session + '"') == line.npos) continue;
        seen.is_there = true;
        try {
            if (std::holds_alternative<Fail>(parse_json_line(line))) seen.has_failed = true;
        } catch (const Error&) {  // the first line may be cut
        }
    }
    return seen;
}

}  // namespace

void append_to_running_session(const std::filesystem::path& path, const Fail& fail) {
    constexpr off_t tail = 1 << 18;
    const OpenFile file(path.string(), O_RDWR | O_APPEND);
    struct stat status {};
    if (!file || ::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const auto seen =
        look_for(fail.session, read_from(file.number, std::max<off_t>(status.st_size - tail, 0)));
    if (!seen.is_there || seen.has_failed) return;
    const std::string line = to_json_line(fail) + '\n';
    if (write_once(file.number, line) != static_cast<ssize_t>(line.size()) ||
        ::fdatasync(file.number) != 0)
        throw Error(fmt::format("cannot add to '{}': {}", path.string(), std::strerror(errno)));
}

}  // namespace tutti
