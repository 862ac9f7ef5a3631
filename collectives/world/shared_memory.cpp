// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <span>

#include "base/index.hpp"
#include "base/open_file.hpp"
#include "base/rounding.hpp"

namespace tutti {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t whole(std::size_t unit, std::size_t bytes) {
    return std::max(unit, round_up(bytes, unit));
}

// Data with which a peer process opens a piece of memory.
struct Key {
    int process = 0;
    int descriptor = -1;
    int error = 0;  // why there is no memory
    std::size_t size = 0;
    std::size_t unit = page;
    std::uint64_t token = 0;  // stored after the memory
};

constexpr const char* what = "shared memory";

}  // namespace

// One piece as mapped by this process; the pages live as long as any process maps them.
class SharedMemory::Mapping {
public:
    // Maps a file in its page size, or fresh memory with descriptor -1, with room for a token
    // after it. Empty if the system refuses.
    Mapping(std::size_t size, int descriptor, std::size_t unit = page) {
        const int kind = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
        void* address = mmap(nullptr, whole(unit, size + sizeof(std::uint64_t)),
                             PROT_READ | PROT_WRITE, kind, descriptor, 0);
        if (address == MAP_FAILED) return;
        all_ = {static_cast<std::byte*>(address), whole(unit, size + sizeof(std::uint64_t))};
        used_ = all_.first(size);
        // Huge pages cause fewer TLB misses, where the system offers them.
        if (unit == page && size >= huge_page) madvise(address, all_.size(), MADV_HUGEPAGE);
    }
    ~Mapping() {
        if (!all_.empty()) munmap(all_.data(), all_.size());
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    bool failed() const { return all_.empty(); }
    std::span<std::byte> bytes() const { return used_; }
    std::span<std::byte> all() const { return all_; }  // to the end of the last page

private:
    std::span<std::byte> all_;
    std::span<std::byte> used_;
};

// A rank's own memory as a file, and a first mapping of it. Uses huge pages if enough of them are
// reserved (vm.nr_hugepages).
struct SharedMemory::OwnFile {
    explicit OwnFile(std::size_t size) {
        if (size >= huge_page) make(size, huge_page, MFD_HUGETLB);
        if (!mapping || mapping->failed()) make(size, page, 0);
        error = !mapping || mapping->failed() ? errno : 0;
    }

    int error = 0;  // 0: there is memory

    std::optional<OpenFile> file;
    std::size_t unit = page;
    std::unique_ptr<Mapping> mapping;

private:
    void make(std::size_t size, std::size_t page_size, unsigned kind) {
        unit = page_size;
        file.emplace(memfd_create("tutti", MFD_CLOEXEC | kind));
        const auto length = static_cast<off_t>(whole(unit, size + sizeof(std::uint64_t)));
        if (!*file || ftruncate(file->number, length) != 0) return;
        // Reserving huge pages is not enough: a container limit can still deny them (SIGBUS).
        if (kind != 0 && fallocate(file->number, 0, 0, length) != 0) return;
        mapping = std::make_unique<Mapping>(size, file->number, unit);
    }
};

SharedMemory::SharedMemory(World& world, std::size_t mine) : ReachableMemory(world.rank()) {
    if (!world.one_host()) throw Error(fmt::format("{}: the ranks are on several hosts", what));
    if (world.one_process())
        share_by_pointer(world, mine);
    else
        share_by_file(world, mine);
}

// Threads share the mappings themselves: each stays until the last rank releases it.
void SharedMemory::share_by_pointer(World& world, std::size_t size) {
    const std::shared_ptr<const Mapping> piece = std::make_shared<Mapping>(size, -1);
    for (const auto* of_rank : gather_all<const std::shared_ptr<const Mapping>*>(world, &piece))
        pieces_.push_back(*of_rank);
    world.barrier();
    if (std::ranges::any_of(pieces_, [](const auto& one) { return one->failed(); }))
        throw Error(fmt::format("{}: out of memory", what));
}

// Shares a file without a name; peers open it through /proc while this process has it open.
void SharedMemory::share_by_file(World& world, std::size_t size) {
    const OwnFile own(size);
    // Ranks in different containers may share a host name but not process numbers, and would then
    // open a wrong file: the token identifies the peer's.
    const std::uint64_t token = std::random_device{}() | std::uint64_t{1} << 32;
    if (own.error == 0)
        std::memcpy(own.mapping->all().last(sizeof token).data(), &token, sizeof token);
    const auto keys = gather_all(world, Key{.process = getpid(),
                                            .descriptor = own.file ? own.file->number : -1,
                                            .error = own.error,
                                            .size = size,
                                            .unit = own.unit,
                                            .token = token});
    for (const Key& key : keys)
        if (key.error != 0) throw Error(fmt::format("{}: {}", what, std::strerror(key.error)));
    const char* problem = nullptr;
    for (const Key& key : keys) {
        const OpenFile peer = file_of_process(key.process, key.descriptor);
        std::uint64_t read_token = 0;
        const auto at = static_cast<off_t>(whole(key.unit, key.size + sizeof token) - sizeof token);
        if (!peer || pread(peer.number, &read_token, sizeof read_token, at) != sizeof read_token ||
            read_token != key.token) {
            problem = "a peer's memory cannot be opened through /proc (other user or container?)";
            break;
        }
        pieces_.push_back(std::make_shared<Mapping>(key.size, peer.number, key.unit));
        if (pieces_.back()->failed()) problem = "a peer's memory cannot be mapped";
    }
    fail_together(world, what, problem);
}

std::span<std::byte> SharedMemory::of(Rank rank) const { return at(pieces_, rank)->bytes(); }

}  // namespace tutti
