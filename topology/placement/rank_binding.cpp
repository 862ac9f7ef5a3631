// SPDX-License-Identifier: Apache-2.0
#include "topology/placement/rank_binding.hpp"

#include <algorithm>

namespace tutti {
namespace {

CoreSet cores_with(const Host& host, const std::vector<int>& cpus) {
    const auto usable = [&](int thread) { return std::ranges::find(cpus, thread) != cpus.end(); };
    CoreSet cores;
    for (std::size_t core = 0; core < host.cores.size(); ++core)
        if (std::ranges::any_of(host.cores[core].threads, usable))
            cores.push_back(static_cast<int>(core));
    return cores;
}

// The position of the one place that holds all cores.
template <class Place>
int place_of(const std::vector<Place>& places, const CoreSet& cores) {
    for (std::size_t place = 0; place < places.size(); ++place)
        if (!cores.empty() && std::ranges::includes(places[place].cores, cores))
            return static_cast<int>(place);
    return -1;
}

std::vector<Cache> last_caches(const Host& host) {
    int last = 0;
    for (const Cache& cache : host.caches) last = std::max(last, cache.level);
    std::vector<Cache> caches = host.caches;
    std::erase_if(caches, [&](const Cache& cache) { return cache.level != last; });
    return caches;
}

}  // namespace

RankBinding site_of(const Host& host, const std::vector<int>& cpus) {
    const CoreSet cores = cores_with(host, cpus);
    return {.package = place_of(host.packages, cores),
            .numa_node = place_of(host.numa_nodes, cores),
            .cache = place_of(last_caches(host), cores),
            .core = cores.size() == 1 ? cores.front() : -1};
}

}  // namespace tutti
