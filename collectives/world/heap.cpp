// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/heap.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/library_file.hpp"

namespace tutti {
namespace {

template <class Function>
bool find_function(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
}

[[noreturn]] void refuse(const HeapPlace& place, const std::string& problem) {
    throw Error("the heap of process " + std::to_string(place.process) + " " + problem);
}

}  // namespace

std::optional<Heap> Heap::find() {
    Heap heap;
    tutti_heap_changes_function* changes = nullptr;
    if (!find_function("tutti_heap_locate", heap.locate_) ||
        !find_function("tutti_heap_allocate", heap.allocate_) ||
        !find_function("tutti_heap_release", heap.release_) ||
        !find_function("tutti_heap_changes", changes))
        return std::nullopt;
    heap.changes_ = changes();
    return heap;
}

std::optional<Heap> Heap::load() {
    if (const auto heap = find()) return heap;
    if (const auto file = library_file("libtutti_heap.so"))
        dlopen(file->c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    return find();
}

std::optional<HeapPlace> Heap::place_of(std::span<const std::byte> memory) const {
    HeapPlace place{};
    if (locate_(memory.data(), memory.size(), &place) == 1) return place;
    return std::nullopt;
}

std::shared_ptr<std::byte> Heap::allocate(std::size_t bytes) const {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    void* const memory = allocate_(bytes >= huge_page ? huge_page : 1, bytes);
    return {static_cast<std::byte*>(memory), release_};
}

std::optional<std::string> heaps_refuse(World& world) {
    if (world.one_process()) return std::nullopt;
    const auto heap = Heap::find();
    const auto trial = heap ? heap->allocate(1) : nullptr;
    const auto place = trial ? heap->place_of({trial.get(), 1}) : std::nullopt;
    std::optional<std::string> problem;
    if (!heap)
        problem = "libtutti_heap.so is not loaded; use LD_PRELOAD=build/libtutti_heap.so";
    else if (trial == nullptr)
        problem = "the heap allocates no memory (TUTTI_HEAP_THRESHOLD=off?)";
    else if (!place)
        problem = "the heap belongs to the process that forked this one";
    problem = missing_on_any(world, problem);
    if (problem) return problem;
    const auto places = gather_all(world, *place);
    try {
        for (const Rank peer : world.ranks_of_host())
            if (peer != world.rank()) peer_arenas(world).address_of(at(places, peer));
    } catch (const Error& error) {
        problem = error.what();
    }
    return missing_on_any(world, problem);
}

PeerArenas& peer_arenas(World& world) {
    return world.whole().attribute<PeerArenas>([] { return std::make_unique<PeerArenas>(); });
}

PeerArenas::Mapping::Mapping(OpenFile opened, std::size_t largest)
    : file(std::move(opened)), most(largest) {
    void* const mapped =
        mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.number, 0);
    begin = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
    // Huge pages are used where the owner has them.
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
