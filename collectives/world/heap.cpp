// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/heap.hpp"

#include <dlfcn.h>

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
    if (!world.one_host()) return "the ranks are on several hosts";
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
    auto places = gather_all(world, *place);
    places.erase(places.begin() + world.rank().index);
    try {
        for (const HeapPlace& of_peer : places) peer_arenas(world).address_of(of_peer);
    } catch (const Error& error) {
        problem = error.what();
    }
    return missing_on_any(world, problem);
}

PeerArenas& peer_arenas(World& world) {
    return world.whole().attribute<PeerArenas>([] { return std::make_unique<PeerArenas>(); });
}

}  // namespace tutti
