// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collectives/heap/arena_heap.hpp"
#include "collectives/heap/next_functions.hpp"
#include "collectives/heap/system_calls.hpp"

namespace tutti::heap {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
// The file grows in steps of this size; each step takes two system calls.
constexpr std::size_t step = std::size_t{64} << 20;

std::size_t limit_of(decltype(RLIMIT_AS) resource) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// Limits the arena by the overcommit mode of the system. The pages of a file are counted only when
// they are written. If memory ran out then, the system would kill the program, which expects malloc
// to fail instead. Mode 0: memory and swap. Mode 1: no limit. Mode 2: no arena, as a file cannot
// reserve memory.
std::size_t most_promised() {
    const auto file = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, "/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC));
    char mode = '0';
    if (file >= 0) syscall(SYS_read, file, &mode, 1);
    close_file(file);
    struct sysinfo memory {};
    if (mode == '2') return 0;
    if (mode == '1' || sysinfo(&memory) != 0) return SIZE_MAX;
    return (memory.totalram + memory.totalswap) * memory.mem_unit;
}

// Creates a file without a name that cannot shrink below what peers have mapped.
int memory_file() {
    const int file = memfd_create("tutti_heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
    // Choose a large number: scripts and programs choose small ones for their files (exec 3>log).
    const std::size_t files = std::min<std::size_t>(limit_of(RLIMIT_NOFILE), 1024);
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, static_cast<int>(files - files / 16));
    if (moved < 0) return file;
    close_file(file);
    return moved;
}

}  // namespace

bool ArenaFile::open(std::size_t most, AfterFork after_fork) {
    // Where addresses are limited (RLIMIT_AS), leave half of them to the rest of the program.
    most = std::min({most, most_promised(), limit_of(RLIMIT_AS) / 2}) / huge_page * huge_page;
    const std::size_t least = std::min(most, step);
    std::byte* range = nullptr;
    for (; most != 0 && most >= least; most = most / 2 / huge_page * huge_page) {
        range = map_pages(nullptr, most + huge_page, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
        if (range != nullptr) break;
    }
    struct stat seen {};
    if (range == nullptr || (descriptor_ = memory_file()) < 0 || fstat(descriptor_, &seen) != 0)
        return false;
    device_ = seen.st_dev;
    inode_ = seen.st_ino;
    process_ = getpid();
    after_fork_ = after_fork;
    const auto begin = reinterpret_cast<std::uintptr_t>(range);
    begin_ = begin + (-begin & (huge_page - 1));
    most_ = most;
    return true;
}

bool ArenaFile::is_open() const {
    struct stat seen {};
    return descriptor_ >= 0 && fstat(descriptor_, &seen) == 0 && seen.st_dev == device_ &&
           seen.st_ino == inode_;
}

bool ArenaFile::grow(std::size_t bytes) {
    const std::size_t had = bytes_;
    const std::size_t room = most() - had;
    if (bytes > room) return false;
    bytes = std::min(room, (bytes + step - 1) / step * step);
    std::byte* const end = begin() + had;
    if (!is_shared()) {
        if (private_pages(bytes, end) == nullptr) return false;
    } else {
        // Exceeding RLIMIT_FSIZE would raise a signal. Enlarge the file last: the seal forbids to
        // shrink it again.
        if (!is_open() || had + bytes > limit_of(RLIMIT_FSIZE) ||
            map_pages(end, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                      descriptor_, had) == nullptr ||
            ftruncate(descriptor_, static_cast<off_t>(had + bytes)) != 0)
            return false;
    }
    advise_mapped(end, bytes);
    bytes_ = had + bytes;
    return true;
}

void ArenaFile::advise_mapped(std::byte* begin, std::size_t bytes) {
    if (is_shared() && after_fork_ == AfterFork::exec) advise(begin, bytes, MADV_DONTFORK);
    advise(begin, bytes, MADV_HUGEPAGE);
}

bool ArenaFile::map_again(std::size_t from, std::size_t bytes) {
    if (is_shared() && !is_open()) return false;
    const int kind = is_shared() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    if (next::calls.mmap(begin() + from, bytes, PROT_READ | PROT_WRITE,
                         kind | MAP_NORESERVE | MAP_FIXED, descriptor_,
                         is_shared() ? static_cast<off_t>(from) : 0) == MAP_FAILED)
        return false;
    advise_mapped(begin() + from, bytes);
    return true;
}

bool ArenaFile::discard(std::byte* begin, std::size_t bytes) {
    // UCX and Open MPI watch this call, and drop these pages from their registration caches.
    return next::calls.madvise(begin, bytes, is_shared() ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

void ArenaFile::clear(std::size_t from, std::size_t bytes) {
    if (!is_shared()) return;
    if (is_open())
        syscall(SYS_fallocate, descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
                bytes);
    else
        advise(begin() + from, bytes, MADV_REMOVE);
}

bool ArenaFile::locate(const void* address, std::size_t bytes, tutti_heap_place& place) const {
    const std::size_t size = this->bytes();
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - begin_;
    if (offset >= size || bytes > size - offset || !is_shared()) return false;
    place = {.process = process_,
             .descriptor = descriptor_,
             .device = device_,
             .inode = inode_,
             .offset = offset,
             .bytes = bytes,
             .arena_bytes = size,
             .arena_most = most()};
    return true;
}

void ArenaFile::copy_out(std::size_t from, std::size_t bytes, std::byte* copy) const {
    const bool knows_holes = is_open();
    for (const std::size_t end = from + bytes; from < end;) {
        std::size_t hole = end;
        if (knows_holes) {
            const off_t data = lseek(descriptor_, static_cast<off_t>(from), SEEK_DATA);
            if (data < 0 && errno == ENXIO) return;  // nothing was written after `from`
            if (data >= 0) {                         // else copy all of it
                from = static_cast<std::size_t>(data);
                if (from >= end) return;
                hole = std::min(end, static_cast<std::size_t>(lseek(descriptor_, data, SEEK_HOLE)));
            }
        }
        std::memcpy(copy + from, begin() + from, hole - from);
        from = hole;
    }
}

void ArenaFile::copy_protected(std::size_t from, std::size_t bytes, std::byte* copy) const {
    if (!is_open()) return;
    for (const std::size_t end = from + bytes; from < end;) {
        const long got = syscall(SYS_pread64, descriptor_, copy + from, end - from, from);
        if (got <= 0) return;
        from += static_cast<std::size_t>(got);
    }
}

bool ArenaFile::put_copy(std::size_t from, std::size_t bytes, std::byte* copy) {
    return syscall(SYS_mremap, copy + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                   begin() + from) != -1;
}

void ArenaFile::abandon() {
    let_go();
    map_pages(begin(), bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED);
}

// The child closes the file, so that the memory is freed when the parent ends.
void ArenaFile::let_go() {
    if (is_open()) close_file(descriptor_);
    descriptor_ = -1;
}

}  // namespace tutti::heap
