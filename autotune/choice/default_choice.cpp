// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/default_choice.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/transport/table/transports.hpp"

namespace tutti {
namespace {

// The size up to which latency outweighs bandwidth: within a host a signal takes about as long as
// copying some KiB; between hosts a message takes ten times as long.
constexpr Bytes small_on_host{16 * 1024};
constexpr Bytes small_across_hosts{64 * 1024};
constexpr Bytes small_if_copied{512 * 1024};

// Algorithms by name: for small messages, for large ones; for several hosts with several ranks
// each.
struct Rule {
    Collective collective;
    std::string_view small, large, small_by_node, large_by_node;
};

constexpr Rule rules[] = {
    {Collective::all_reduce, "butterfly", "two-shot", "two-level-butterfly", "multi-rail"},
    {Collective::reduce_scatter, "one-shot", "one-shot", "two-level", "multi-rail"},
    {Collective::all_gather, "one-shot", "one-shot", "two-level", "multi-rail"},
    {Collective::broadcast, "tree", "butterfly", "two-level", "multi-rail"},
    {Collective::reduce, "tree", "round-robin", "two-level", "multi-rail"},
    {Collective::scatter, "linear", "linear", "two-level", "linear"},
    {Collective::gather, "linear", "linear", "two-level", "linear"},
    {Collective::all_to_all, "linear", "linear", "bruck", "round-robin"},
    {Collective::barrier, "dissemination", "dissemination", "two-level", "two-level"},
    {Collective::scan, "doubling", "chain", "doubling", "chain"},
    {Collective::exscan, "doubling", "chain", "doubling", "chain"},
};

// Ranks of a host that share cores: fewer waits count more than that all cores move data at a time.
// With 4 and 8 ranks on 2 cores, a broadcast of 256 KiB by the butterfly takes 4 times as long as
// the readers' own copies, small all-reduces 1.3 to 1.9 times as long as one-shot.
constexpr std::string_view on_shared_cores(Collective collective, bool is_small) {
    switch (collective) {
        case Collective::broadcast:
        case Collective::reduce:
            return "linear";
        case Collective::all_reduce:
            return is_small ? "one-shot" : "";
        default:
            return "";
    }
}

// Large messages between many ranks would all arrive at one receiver at once (incast).
constexpr std::string_view large_across_hosts(Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
        case Collective::reduce_scatter:
        case Collective::all_gather:
            return "ring";
        case Collective::all_to_all:
            return "round-robin";
        default:
            return "";
    }
}

std::string_view guess(const Call& call, BufferKind buffers, const World& world) {
    const auto found = std::ranges::find(rules, call.collective, &Rule::collective);
    if (found == std::end(rules)) return algorithms_of(call.collective).front()->name;
    const Rule& rule = *found;
    const Bytes bytes{total_bytes(call, world.size())};
    if (world.one_host()) {
        // Between two ranks all bytes cross once at best, so spreading a vector first gains
        // nothing: a broadcast took up to 10 times as long, a reduce of unregistered memory up to
        // 4.6 times. Where peers reach the memory, a spread reduce takes about half of the time,
        // as both ranks add. Where they copy it, a second step costs more than it saves: two-shot
        // takes up to 1.8 times as long as the butterfly.
        const bool is_pair = world.size() == 2,
                   is_reached = buffers == BufferKind::registered || buffers == BufferKind::mapped;
        const bool stays_whole =
            is_pair && (call.collective == Collective::broadcast ||
                        (call.collective == Collective::reduce && !is_reached) ||
                        (call.collective == Collective::all_reduce && !is_reached &&
                         bytes <= small_if_copied));
        const bool is_small = bytes <= small_on_host || stays_whole;
        const std::string_view shared =
            world.oversubscribed ? on_shared_cores(call.collective, is_small) : "";
        if (!shared.empty()) return shared;
        return is_small ? rule.small : rule.large;
    }
    const bool is_small = bytes <= small_across_hosts;
    const bool has_nodes = static_cast<int>(world.hosts().nodes().size()) < world.size();
    if (has_nodes) return is_small ? rule.small_by_node : rule.large_by_node;
    const std::string_view large = large_across_hosts(call.collective);
    if (is_small) return rule.small;
    return large.empty() ? rule.large : large;
}

// Returns the best first. A transport that is absent or refuses these ranks is skipped later.
std::vector<std::string_view> transports_for(const World& world) {
    if (world.one_process()) return {"shm", "loopback"};
    if (world.one_host()) return {"shm", "mpi", "ucx"};
    return {"hybrid", "ucx", "mpi"};
}

Configuration ours(std::string_view algorithm, std::string_view transport, const World& world) {
    return {.algorithm = std::string(algorithm),
            .transport = std::string(transport),
            .segment = default_segment(world)};
}

Configuration of_row(const Algorithm& row, std::string_view transport, const World& world) {
    Configuration one = ours(row.name, transport, world);
    if (!row.pipelines) one.segment = Bytes{0};
    return one;
}

}  // namespace

std::vector<Configuration> default_choices(const Call& call, BufferKind buffers,
                                           const World& world) {
    std::vector<Configuration> choices;
    const std::string_view best = guess(call, buffers, world);
    for (const std::string_view transport : transports_for(world))
        choices.push_back(of_row(find_algorithm(call.collective, best), transport, world));
    for (const Configuration& other : all_choices(call.collective, world)) choices.push_back(other);
    return choices;
}

std::vector<Configuration> all_choices(Collective collective, const World& world) {
    std::vector<Configuration> choices;
    for (const std::string_view transport : transports_for(world))
        for (const Algorithm* row : algorithms_of(collective))
            if (row->is_default && (!row->hierarchical || !world.one_host()))
                choices.push_back(of_row(*row, transport, world));
    for (const Baseline& library : baselines())
        if (library.is_default) choices.push_back({.impl = std::string(library.name)});
    return choices;
}

}  // namespace tutti
