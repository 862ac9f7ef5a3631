// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/peer_arenas.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

[[noreturn]] void refuse(const HeapPlace& place, const std::string& problem) {
    throw Error("the heap of process " + std::to_string(place.process) + " " + problem);
}

}  // namespace

PeerArenas::Mapping::Mapping(OpenFile opened, std::size_t largest)
    : file(std::move(opened)), most(largest) {
    void* const mapped =
        mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.number, 0);
    begin = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
    // huge pages where the owner has them
    if (begin != nullptr) madvise(begin, most, MADV_HUGEPAGE);
}

PeerArenas::Mapping::~Mapping() {
    if (begin != nullptr) munmap(begin, most);
}

PeerArenas::Arena& PeerArenas::open(const HeapPlace& place) {
    static std::mutex mutex;
    static std::unordered_map<File, std::weak_ptr<const Mapping>, Hash> of_process;
    const File file{place.device, place.inode};
    const std::lock_guard lock(mutex);
    std::weak_ptr<const Mapping>& known = of_process[file];
    auto mapping = known.lock();
    if (!mapping) known = mapping = map(place);
    return arenas_.try_emplace(file, std::move(mapping)).first->second;
}

std::shared_ptr<const PeerArenas::Mapping> PeerArenas::map(const HeapPlace& place) {
    OpenFile file = file_of_process(place.process, place.descriptor);
    struct stat seen {};
    if (!file || fstat(file.number, &seen) != 0 || seen.st_dev != place.device ||
        seen.st_ino != place.inode)
        refuse(place, "cannot be opened through /proc (other user or container?)");
    // A file that may shrink could kill this process (SIGBUS) during a read.
    if (const int seals = fcntl(file.number, F_GET_SEALS); seals < 0 || !(seals & F_SEAL_SHRINK))
        refuse(place, "is not sealed against shrinking");
    auto mapping = std::make_shared<const Mapping>(std::move(file), as_size(place.arena_most));
    if (mapping->begin == nullptr)
        refuse(place, std::string("cannot be mapped: ") + std::strerror(errno));
    return mapping;
}

void PeerArenas::Arena::grow(const HeapPlace& place) {
    struct stat seen {};
    if (fstat(mapping->file.number, &seen) == 0)
        bytes = std::min(mapping->most, as_size(seen.st_size));
    if (!has(place)) refuse(place, "is smaller than its owner said");
}

}  // namespace tutti
