// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

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
    std::size_t size = 0;
    std::size_t unit = page;
    std::uint64_t token = 0;  // stored at the start of the memory while peers open it
};

void agree(World& world, const char* problem) { fail_together(world, "shared memory", problem); }

}  // namespace

// One piece as mapped by this process; the pages live as long as any process maps them.
class SharedMemory::Mapping {
public:
    // Maps a file in its page size, or fresh memory with descriptor -1. Empty if the system
    // refuses.
    Mapping(std::size_t size, int descriptor, std::size_t unit = page) {
        const int kind = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
        void* address =
            mmap(nullptr, whole(unit, size), PROT_READ | PROT_WRITE, kind, descriptor, 0);
        if (address == MAP_FAILED) return;
        all_ = {static_cast<std::byte*>(address), whole(unit, size)};
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
    }

    std::optional<OpenFile> file;
    std::size_t unit = page;
    std::unique_ptr<Mapping> mapping;

private:
    void make(std::size_t size, std::size_t page_size, unsigned kind) {
        unit = page_size;
        file.emplace(memfd_create("tutti", MFD_CLOEXEC | kind));
        const auto length = static_cast<off_t>(whole(unit, size));
        if (!*file || ftruncate(file->number, length) != 0) return;
        // Reserving huge pages is not enough: a container limit can still deny them (SIGBUS).
        if (kind != 0 && fallocate(file->number, 0, 0, length) != 0) return;
        mapping = std::make_unique<Mapping>(size, file->number, unit);
    }
};

SharedMemory::SharedMemory(World& world, std::size_t mine) : ReachableMemory(world.rank()) {
    agree(world, world.one_host() ? nullptr : "the ranks are on several hosts");
    if (world.one_process())
        share_by_pointer(world, mine);
    else
        share_by_file(world, mine);
}

// Threads share the mappings themselves: each stays until the last rank releases it.
void SharedMemory::share_by_pointer(World& world, std::size_t size) {
    std::shared_ptr<const Mapping> piece = std::make_shared<Mapping>(size, -1);
    agree(world, piece->failed() ? "out of memory" : nullptr);
    for (const auto* of_rank : gather_all<const std::shared_ptr<const Mapping>*>(world, &piece))
        pieces_.push_back(*of_rank);
    world.barrier();
}

// Shares a file without a name; peers open it through /proc while this process has it open.
void SharedMemory::share_by_file(World& world, std::size_t size) {
    const OwnFile own(size);
    agree(world, !own.mapping || own.mapping->failed() ? std::strerror(errno) : nullptr);
    // Ranks in different containers may share a host name but not process numbers, and would then
    // open a wrong file: the token identifies the peer's.
    const std::uint64_t token = std::random_device{}() | std::uint64_t{1} << 32;
    auto* const published_token = reinterpret_cast<std::uint64_t*>(own.mapping->all().data());
    *published_token = token;
    const char* problem = nullptr;
    for (const Key& key :
         gather_all(world, Key{getpid(), own.file->number, size, own.unit, token})) {
        const OpenFile peer = file_of_process(key.process, key.descriptor);
        if (!peer)
            problem = "a peer's memory cannot be opened through /proc (other user or container?)";
        else
            pieces_.push_back(std::make_shared<Mapping>(key.size, peer.number, key.unit));
        if (peer && pieces_.back()->failed()) problem = "a peer's memory cannot be mapped";
        std::uint64_t read_token = 0;
        if (pread(peer.number, &read_token, sizeof read_token, 0) != sizeof read_token ||
            read_token != key.token)
            problem = "a peer's memory cannot be opened through /proc (other user or container?)";
    }
    agree(world, problem);
    *published_token = 0;
    world.barrier();
}

std::span<std::byte> SharedMemory::of(Rank rank) const { return at(pieces_, rank)->bytes(); }

}  // namespace tutti
