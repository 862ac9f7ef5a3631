// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/open_file.hpp"

namespace tutti {

/// Shared memory as mapped by this process; the pages live as long as any process maps them.
class SharedMapping {
public:
    /// Maps fresh memory.
    explicit SharedMapping(std::size_t size);
    /// Maps a file in its page size, or fresh memory with descriptor -1, with room for a token
    /// after it.
    SharedMapping(std::size_t size, int descriptor, std::size_t page_size);
    ~SharedMapping();
    SharedMapping(const SharedMapping&) = delete;
    SharedMapping& operator=(const SharedMapping&) = delete;

    /// Whether the system refused.
    bool failed() const { return all_.empty(); }
    std::span<std::byte> bytes() const { return used_; }
    std::span<std::byte> all() const { return all_; }  // to the end of the last page
    /// Prefaults `bytes` bytes at `offset` by one system call. Per page, this takes a fraction of
    /// the time of a page fault. Returns false before Linux 5.14 or if memory is short; the first
    /// access to each page then causes a page fault.
    bool prefault(std::size_t offset, std::size_t bytes) const;

private:
    std::span<std::byte> all_;
    std::span<std::byte> used_;
};

/// Memory of this process as a file without a name, which other processes of this host can open
/// while it is open here. Uses huge pages if enough of them are reserved (vm.nr_hugepages).
class SharedFile {
public:
    /// Data with which a peer opens the file. The token, stored after the memory, identifies it:
    /// ranks in different containers may share a host name but not process numbers, and would open
    /// a wrong file.
    struct Key {
        int process = 0;
        int descriptor = -1;
        int error = 0;  ///< why there is no memory
        std::size_t size = 0;
        std::size_t page_size = 0;
        std::uint64_t token = 0;
    };

    explicit SharedFile(std::size_t size);

    const Key& key() const { return key_; }
    const std::shared_ptr<const SharedMapping>& mapping() const { return mapping_; }
    /// Closes the file: all peers have mapped it.
    void close() { file_.reset(); }

private:
    void make(std::size_t page_size, unsigned kind);

    Key key_;
    std::optional<OpenFile> file_;
    std::shared_ptr<const SharedMapping> mapping_;
};

/// Throws Error if there is no memory.
void require_memory(const SharedFile::Key& key);

/// Maps a peer's memory. Throws Error if the file cannot be opened or mapped, or is another one.
std::shared_ptr<const SharedMapping> map_shared_file(const SharedFile::Key& key);

}  // namespace tutti
