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
#include "topology/machine/host_tuning.hpp"

namespace tutti {
namespace {

// The size up to which latency outweighs bandwidth: within a host a signal takes about as long as
// copying some KiB; between hosts a message takes ten times as long.
constexpr Bytes small_on_host{16 * 1024};
constexpr Bytes small_across_hosts{64 * 1024};
// Two ranks of unregistered memory add halves of a vector, which the kernel copies, above the first
// size; in a reduce, up to the second one.
constexpr Bytes small_by_kernel_copies{128 * 1024};
constexpr Bytes most_halved_by_kernel_copies{4 * 1024 * 1024};
// Up to this size, ranks that share cores use one-shot for an all-reduce of unregistered memory.
constexpr Bytes small_unregistered_on_shared_cores{64 * 1024};
// Two ranks exchange vectors of up to this size in cache lines, by the default of HostTuning.
constexpr Bytes in_lines_of_pair{2 * HostTuning{}.ll_up_to.count};
// Up to this size, one of two ranks adds a vector in less time than a second step takes.
constexpr Bytes small_of_reached_pair{8 * 1024};

// Hosts with several ranks. Between two of them, leaders send as many bytes for their hosts as all
// ranks together; among more, they send more. Measured on 2 and 4 hosts, with and without a limit
// of 1 Gbit/s.
constexpr Bytes small_between_two_hosts{64 * 1024};
constexpr Bytes small_among_nodes{32 * 1024};
// From this size on, one connection between two leaders leaves a link of 1 Gbit/s idle for 5 to 16
// % of the time.
constexpr Bytes long_between_two_hosts{4 * 1024 * 1024};
// Up to this number of ranks, the root's own messages take less time than a second level. Measured
// with 4 and 8 ranks. One-shot on shared cores was measured with as many.
constexpr Bytes tiny_among_nodes{8 * 1024};
constexpr int few_ranks = 8;
// Above this size of all blocks, forwarding one costs more than a message to its rank.
constexpr Bytes long_scatter{1024 * 1024};
// Rank 0 of a linear barrier looks at all others one after the other.
constexpr int most_ranks_of_linear_barrier = 16;

// Algorithms by name.
struct BySize {
    std::string_view small, large;
};

struct Rule {
    Collective collective;
    BySize on_host;
    // Ranks of a host that share cores: fewer waits count more than that all cores move data at a
    // time. With 4 and 8 ranks on 2 cores, a broadcast of 256 KiB by the butterfly takes 4 times as
    // long as the readers' own copies, small all-reduces 1.3 to 1.9 times as long as one-shot.
    // After the linear barrier, the root of the call that follows is usually rank 0, which leaves
    // first: its data is there when the others leave. On 2 cores it takes .9, .6 and .5 of the
    // time of dissemination with 4, 8 and 16 ranks.
    BySize on_shared_cores;
    // Hosts with one rank each. Large messages between many ranks would all arrive at one receiver
    // at once (incast), so they go round a ring.
    BySize across_hosts;
    BySize across_nodes;  // hosts with several ranks
};

constexpr Rule rules[] = {
    {Collective::all_reduce,
     {"butterfly", "two-shot"},
     {"one-shot", "two-shot"},
     {"butterfly", "ring"},
     {"two-level-butterfly", "multi-rail"}},
    {Collective::reduce_scatter,
     {"one-shot", "one-shot"},
     {"one-shot", "one-shot"},
     {"one-shot", "ring"},
     {"levels", "multi-rail"}},
    {Collective::all_gather,
     {"one-shot", "one-shot"},
     {"one-shot", "one-shot"},
     {"one-shot", "ring"},
     {"locality-bruck", "multi-rail"}},
    {Collective::broadcast,
     {"tree", "butterfly"},
     {"linear", "linear"},
     {"tree", "butterfly"},
     {"two-level", "multi-rail"}},
    {Collective::reduce,
     {"tree", "round-robin"},
     {"linear", "linear"},
     {"tree", "round-robin"},
     {"two-level", "multi-rail"}},
    {Collective::scatter,
     {"linear", "linear"},
     {"linear", "linear"},
     {"linear", "linear"},
     {"levels", "multi-rail"}},
    {Collective::gather,
     {"linear", "linear"},
     {"linear", "linear"},
     {"linear", "linear"},
     {"two-level", "linear"}},
    {Collective::all_to_all,
     {"linear", "linear"},
     {"linear", "linear"},
     {"linear", "round-robin"},
     {"two-level", "round-robin"}},
    {Collective::barrier,
     {"dissemination", "dissemination"},
     {"linear", "linear"},
     {"dissemination", "dissemination"},
     {"two-level", "two-level"}},
    {Collective::scan,
     {"doubling", "chain"},
     {"doubling", "chain"},
     {"doubling", "chain"},
     {"doubling", "chain"}},
    {Collective::exscan,
     {"doubling", "chain"},
     {"doubling", "chain"},
     {"doubling", "chain"},
     {"doubling", "chain"}},
};

std::string_view guess(const Call& call, BufferKind buffers, const World& world) {
    const auto found = std::ranges::find(rules, call.collective, &Rule::collective);
    if (found == std::end(rules)) return algorithms_of(call.collective).front()->name;
    const Rule& rule = *found;
    const Bytes bytes{total_bytes(call, world.size())};
    if (world.one_host()) {
        // Between two ranks all bytes cross once at best, so spreading a vector first gains
        // nothing: a broadcast took up to 10 times as long. Where peers reach the memory, both
        // ranks add if a reduce is spread. On Zen 5, that takes 0.5 to 0.9 of the time from 24 KiB
        // to 32 MiB; on Zen 1, it takes 1.2 times as long for 32 KiB and 1.05 for 64 KiB, but 0.75
        // of the time for 512 KiB. If they copy in and out, two-shot takes 1.7 to 1.8 times as long
        // as the butterfly from 128 KiB to 1 MiB. If the kernel copies, it takes 1.1 to 1.3 of the
        // butterfly's time for 128 KiB, 0.75 to 1.0 for 256 KiB, and 0.5 to 0.85 for 512 KiB to 4
        // MiB. A reduce by round-robin takes 0.7 to 0.85 of the tree's time from 256 KiB to 4 MiB
        // with untouched input, and 0.75 to 1.15 with freshly written input. For 8 MiB of freshly
        // written input, it takes 1.3 to 1.9 of the tree's time.
        const bool is_pair = world.size() == 2,
                   is_reached = buffers == BufferKind::registered || buffers == BufferKind::mapped,
                   is_all_reduce = call.collective == Collective::all_reduce,
                   is_reduce = call.collective == Collective::reduce;
        // In a butterfly, each rank also waits until its peer has read its input. In a tree, only
        // rank 0 reads: it adds, and stores the result into both outputs. In two-shot, both do so
        // with a half. On Zen 5 with far cores, these take 0.59 to 0.73 of the butterfly's time for
        // 1 to 16 KiB of freshly written input, 0.84 to 1.0 for untouched input, and about the same
        // time in back-to-back calls.
        if (is_pair && is_reached && is_all_reduce && bytes > in_lines_of_pair &&
            !world.oversubscribed)
            return bytes <= small_of_reached_pair ? "tree" : "two-shot";
        const bool halves_pay = bytes > small_by_kernel_copies && !world.refuses_peer_memory &&
                                (is_all_reduce || bytes <= most_halved_by_kernel_copies);
        const bool stays_whole =
            is_pair && (call.collective == Collective::broadcast ||
                        ((is_reduce || is_all_reduce) && !is_reached && !halves_pay));
        // Ranks that share cores take turns for each step, and copy-in-copy-out adds steps. With 4
        // and 8 ranks on 2 cores and freshly written input, one-shot takes 0.75 to 0.88 of
        // two-shot's time for 32 KiB, and 0.9 to 1.0 for 64 KiB. In registered memory, it takes 1.1
        // to 1.3 of two-shot's time.
        const bool has_one_step =
            is_all_reduce && world.oversubscribed && world.size() <= few_ranks &&
            buffers == BufferKind::unregistered && bytes <= small_unregistered_on_shared_cores;
        const bool is_long_barrier =
            call.collective == Collective::barrier && world.size() > most_ranks_of_linear_barrier;
        const BySize& algorithms =
            world.oversubscribed && !is_long_barrier ? rule.on_shared_cores : rule.on_host;
        const bool is_small = bytes <= small_on_host || stays_whole || has_one_step;
        return is_small ? algorithms.small : algorithms.large;
    }
    const int hosts = int_size(world.hosts().nodes());
    if (hosts == world.size())
        return bytes <= small_across_hosts ? rule.across_hosts.small : rule.across_hosts.large;
    // Leaders send all blocks of a host at once. A broadcast to a single other host is one message.
    const bool prefers_levels =
        call.collective == Collective::scatter ||
        (call.collective == Collective::broadcast && hosts == 2 && world.oversubscribed);
    if (has_root(call.collective) && world.size() <= few_ranks && bytes <= tiny_among_nodes &&
        !prefers_levels)
        return "linear";
    // Leaders would forward all blocks, where ranks can exchange them at the same time.
    const bool is_pair = hosts == 2 && call.collective != Collective::all_to_all;
    const Bytes small = is_pair ? small_between_two_hosts : small_among_nodes;
    // Ranks that share cores leave vectors to the leaders, but not long all-reduces. Measured with
    // 2 hosts of 2 and 4 ranks on 2 cores at 128 KiB to 16 MiB, the leaders take 0.4 to 0.8 of
    // multi-rail's time without a limit of bandwidth. At 1 Gbit/s they take 0.96 to 1.06 of it,
    // and 1.2 in an all-reduce of 1 MiB.
    const bool has_vector = call.collective == Collective::all_reduce ||
                            call.collective == Collective::broadcast ||
                            call.collective == Collective::reduce;
    const bool is_long_all_reduce =
        call.collective == Collective::all_reduce && bytes >= long_between_two_hosts;
    const bool leads = is_pair && world.oversubscribed && has_vector && !is_long_all_reduce;
    if (bytes <= small || leads) return rule.across_nodes.small;
    const bool are_few_on_shared_cores = world.oversubscribed && world.size() <= few_ranks;
    if (!are_few_on_shared_cores) return rule.across_nodes.large;
    // Such ranks exchange all blocks at once: rounds would only add waits. With 8 ranks on 2 cores,
    // blocks of 32 to 256 KiB take 0.78 to 0.99 of the time.
    if (call.collective == Collective::all_to_all) return "linear";
    // The root sends long blocks directly. With 8 ranks on 2 cores, a scatter of 2 to 8 MiB takes
    // 0.82 to 1.06 of the time of multi-rail on 4 hosts, 0.89 to 1.04 on 2, and the same time at 1
    // Gbit/s.
    if (call.collective == Collective::scatter && bytes > long_scatter) return "linear";
    // A chain of leaders sends a vector over each link once, as multi-rail does. With 4 hosts of 2
    // ranks on 2 cores, a broadcast of 64 KiB to 8 MiB takes 0.71 to 0.90 of the time, and one of
    // 16 MiB 1.12; at 1 Gbit/s 0.69 to 1.07. A tree of leaders is faster than the chain where links
    // have no limit, but takes up to twice as long at 1 Gbit/s.
    if (call.collective == Collective::broadcast) return "levels";
    return rule.across_nodes.large;
}

// An algorithm with a tree inside each host, and the form without it. Ranks that share cores
// exchange data with their leader directly: in a tree, a rank has to run twice, and each turn on a
// core costs more than reading one more vector. With 2 hosts of 4 ranks on 2 cores, an all-reduce
// of 8 B to 4 KiB takes 0.7 to 0.8 of the tree's time, one of 64 KiB to 16 MiB 0.83 to 0.94, a
// reduce of 1 to 16 MiB 0.65 to 0.83. For a broadcast, `levels` is a chain of leaders.
struct FlatTwin {
    Collective collective;
    std::string_view tree;
    int level_algorithms;
};
constexpr FlatTwin flat_twins[] = {
    {Collective::all_reduce, "two-level-butterfly", level_algorithms_of({"butterfly", "one-shot"})},
    {Collective::broadcast, "two-level", level_algorithms_of({"tree", "one-shot"})},
    {Collective::broadcast, "levels", level_algorithms_of({"ring", "one-shot"})},
    {Collective::reduce, "two-level", level_algorithms_of({"tree", "one-shot"})},
    {Collective::reduce_scatter, "levels", level_algorithms_of({"butterfly", "one-shot"})},
};

// Returns the best first. A transport that is absent or refuses these ranks is skipped later.
std::vector<std::string_view> transports_for(const World& world) {
    if (world.one_process()) return {"shm", "loopback"};
    if (world.one_host()) return {"shm", "mpi", "ucx"};
    return {"hybrid", "ucx", "mpi"};
}

// Plans use the default segment.
Configuration of_row(const Algorithm& row, std::string_view transport) {
    return {.algorithm = std::string(row.name), .transport = std::string(transport)};
}

// Returns the best guess, without a transport.
Configuration best_of(const Call& call, BufferKind buffers, const World& world) {
    const std::string_view best = guess(call, buffers, world);
    for (const FlatTwin& twin : flat_twins)
        if (world.oversubscribed && twin.collective == call.collective && twin.tree == best)
            return {.algorithm = "levels",
                    .levels = 1 << static_cast<int>(Level::host),
                    .level_algorithms = twin.level_algorithms};
    return of_row(find_algorithm(call.collective, best), {});
}

}  // namespace

std::vector<Configuration> best_guesses(const Call& call, BufferKind buffers, const World& world) {
    std::vector<Configuration> choices;
    Configuration best = best_of(call, buffers, world);
    for (const std::string_view transport : transports_for(world)) {
        best.transport = transport;
        choices.push_back(best);
    }
    return choices;
}

std::vector<Configuration> default_choices(const Call& call, BufferKind buffers,
                                           const World& world) {
    std::vector<Configuration> choices = best_guesses(call, buffers, world);
    for (const Configuration& other : all_choices(call.collective, world)) choices.push_back(other);
    return choices;
}

std::vector<Configuration> all_choices(Collective collective, const World& world) {
    std::vector<Configuration> choices;
    for (const std::string_view transport : transports_for(world))
        for (const Algorithm* row : algorithms_of(collective))
            if (row->is_default && (!row->hierarchical || !world.one_host()))
                choices.push_back(of_row(*row, transport));
    for (const Baseline& library : baselines())
        if (library.is_default) choices.push_back({.impl = std::string(library.name)});
    return choices;
}

std::vector<Configuration> choices_to_learn(Collective collective, const World& world) {
    std::vector<Configuration> choices = all_choices(collective, world);
    if (collective == Collective::barrier && world.oversubscribed)
        std::erase_if(choices, [](const Configuration& choice) { return choice.is_ours(); });
    return choices;
}

}  // namespace tutti
