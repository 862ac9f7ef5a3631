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

// What a peer process needs to open a piece of memory.
struct Key {
    int process = 0;
    int descriptor = -1;
    std::size_t size = 0;
    std::size_t unit = page;
    std::uint64_t token = 0;  // stands at the start of the memory while peers open it
};

void agree(World& world, const char* problem) { fail_together(world, "shared memory", problem); }

}  // namespace

// One piece as this process sees it; the pages live as long as anyone has them mapped.
class SharedMemory::Mapping {
public:
    // A file's pages of the size that it has them in, or fresh ones with descriptor -1. Empty if
    // the system refuses.
    Mapping(std::size_t size, int descriptor, std::size_t unit = page) {
        const int kind = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
        void* address =
            mmap(nullptr, whole(unit, size), PROT_READ | PROT_WRITE, kind, descriptor, 0);
        if (address == MAP_FAILED) return;
        all_ = {static_cast<std::byte*>(address), whole(unit, size)};
        used_ = all_.first(size);
        // Fewer misses of the address cache, where the system offers it.
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

// A rank's own memory as a file, and a first mapping of it. In huge pages where enough of them are
// set aside for such use (vm.nr_hugepages).
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
        // Set aside is not had: a container may be denied huge pages, which would end it by SIGBUS.
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

// Threads share the mappings themselves: each stays until the last rank has let go of it.
void SharedMemory::share_by_pointer(World& world, std::size_t size) {
    std::shared_ptr<const Mapping> piece = std::make_shared<Mapping>(size, -1);
    agree(world, piece->failed() ? "out of memory" : nullptr);
    for (const auto* of_rank : gather_all<const std::shared_ptr<const Mapping>*>(world, &piece))
        pieces_.push_back(*of_rank);
    world.barrier();
}

// A file without a name; peers reach it through /proc as long as this process has it open.
void SharedMemory::share_by_file(World& world, std::size_t size) {
    const OwnFile own(size);
    agree(world, !own.mapping || own.mapping->failed() ? std::strerror(errno) : nullptr);
    // Ranks in containers of their own may share a host's name but not its process numbers, and
    // then find some other file: only what shows the token is the peer's.
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
