// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace tutti::simulated {
namespace {

constexpr std::byte rubbish{0xcd}, fence{0xfe}, gone{0xdd};

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

struct Mapping {
    std::byte* begin;  // its first page
    std::size_t bytes;
};
std::mutex mappings_mutex;
std::map<std::uintptr_t, Mapping> mappings;  // by returned address

}  // namespace

Arena::Arena(std::size_t bytes) : size_(bytes), file_(memfd_create("simulated GPU", MFD_CLOEXEC)) {
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
}

Arena::~Arena() {
    munmap(memory_, size_);
    close(file_);
}

// Takes the first gap that is large enough.
std::byte* Arena::allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::size_t at = 0;
    for (const auto& [offset, used] : used_) {
        if (offset - at >= room_for(bytes)) break;
        at = offset + room_for(used);
    }
    if (at + room_for(bytes) > size_) return nullptr;
    used_[at] = bytes;
    std::memset(memory_ + at, static_cast<int>(rubbish), bytes);
    std::memset(memory_ + at + bytes, static_cast<int>(fence), room_for(bytes) - bytes);
    return memory_ + at;
}

bool Arena::release(std::byte* memory) {
    const std::lock_guard lock(mutex_);
    if (!owns(memory)) return false;
    const auto found = used_.find(static_cast<std::size_t>(memory - memory_));
    if (found == used_.end()) return false;
    const std::size_t bytes = found->second;
    std::byte* const behind = memory + bytes;
    if (!std::all_of(behind, memory + room_for(bytes), [](std::byte b) { return b == fence; })) {
        std::fprintf(stderr, "simulated GPU: something wrote past an allocation of %zu bytes\n",
                     bytes);
        std::abort();
    }
    std::memset(memory, static_cast<int>(gone), bytes);
    used_.erase(found);
    return true;
}

bool Arena::owns(const void* address) const {
    return number(address) >= number(memory_) && number(address) < number(memory_) + size_;
}

bool Arena::has(const void* address, std::size_t bytes) const {
    if (!owns(address)) return false;
    const std::lock_guard lock(mutex_);
    const std::size_t offset = number(address) - number(memory_);
    const auto next = used_.upper_bound(offset);
    if (next == used_.begin()) return false;
    const auto& [begin, used] = *std::prev(next);
    return offset + bytes <= begin + used;
}

ArenaKey Arena::key_of(const std::byte* memory) const {
    const std::lock_guard lock(mutex_);
    const auto offset = static_cast<std::size_t>(memory - memory_);
    return {getpid(), file_, offset, used_.at(offset)};
}

std::size_t Arena::free_bytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t used = 0;
    for (const auto& [offset, bytes] : used_) used += room_for(bytes);
    return size_ - used;
}

std::byte* map_arena(const ArenaKey& key) {
    const std::string path =
        "/proc/" + std::to_string(key.process) + "/fd/" + std::to_string(key.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inside = key.offset % page;
    void* const begin = mmap(nullptr, inside + key.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                             static_cast<off_t>(key.offset - inside));
    close(file);
    if (begin == MAP_FAILED) return nullptr;
    auto* const memory = static_cast<std::byte*>(begin) + inside;
    const std::lock_guard lock(mappings_mutex);
    mappings[number(memory)] = {static_cast<std::byte*>(begin), inside + key.bytes};
    return memory;
}

bool unmap_arena(std::byte* memory) {
    const std::lock_guard lock(mappings_mutex);
    const auto found = mappings.find(number(memory));
    if (found == mappings.end()) return false;
    munmap(found->second.begin, found->second.bytes);
    mappings.erase(found);
    return true;
}

bool is_mapped(const void* address, std::size_t bytes) {
    const std::lock_guard lock(mappings_mutex);
    return std::ranges::any_of(mappings, [&](const auto& mapping) {
        const auto begin = number(mapping.second.begin);
        return number(address) >= begin && number(address) + bytes <= begin + mapping.second.bytes;
    });
}

}  // namespace tutti::simulated
