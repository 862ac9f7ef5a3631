// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "autotune/table/table_json.hpp"
#include "base/error.hpp"
#include "base/hashes.hpp"
#include "collectives/world/different_calls.hpp"
#include "collectives/world/host_processes.hpp"
#include "collectives/world/peer_memory.hpp"
#include "library/communicator_state.hpp"

namespace tutti {

namespace {

bool is_same_call(const CallKey& one, const CallKey& other) {
    return one.call == other.call && one.in_place == other.in_place && one.mode == other.mode &&
           one.has_lengths == other.has_lengths && one.arm == other.arm &&
           one.arena() == other.arena();
}

// Names the operation and the root only if the collective has them.
std::string to_string(const CallKey& key) {
    const Call& call = key.call;
    std::string words =
        fmt::format("{} of {}{} {}", name_of_call(call.collective, key.has_lengths),
                    key.has_lengths ? "at most " : "", call.count, name_of(call.type));
    if (reduces(call.collective)) words += fmt::format(", {}", name_of(call.op));
    if (has_root(call.collective)) words += fmt::format(", root {}", call.root.index);
    if (key.in_place) words += ", in place";
    if (key.is_registered()) words += fmt::format(", in registered memory {}", key.arena());
    return words + (key.mode == CallMode::nonblocking ? ", started" : "");
}

enum class TableFrom : std::uint8_t { none, program, file };

// Options that must be equal on all ranks. The name of the table file matters on rank 0 only.
struct SharedOptions {
    std::uint64_t table = 0;
    double learning_bound = 0;
    std::uint64_t most_plans = 0;
    TableFrom from = TableFrom::none;
    bool table_anyway = false;
};

const HostTuning& tuning_of_this_host() {
    static const HostTuning tuning = tuning_from(cores_of_this_host());
    return tuning;
}

}  // namespace

BuffersOfAll agree_on_call(World& world, const CallKey& key, const BufferTraits& buffers) {
    struct OfRank {
        CallKey key;
        BufferTraits buffers;
    };
    const auto all = gather_all(world, OfRank{key, buffers});
    const auto other = std::ranges::find_if_not(
        all, [&](const CallKey& one) { return is_same_call(all.front().key, one); }, &OfRank::key);
    if (other != all.end())
        throw DifferentCalls(fmt::format(
            "ranks make different calls: rank 0 calls {}; rank {} calls {}; make the same calls "
            "in the same order on all ranks",
            to_string(all.front().key), other - all.begin(), to_string(other->key)));
    std::vector<BufferTraits> of_ranks;
    for (const OfRank& one : all) of_ranks.push_back(one.buffers);
    return BuffersOfAll(of_ranks);
}

HostTuning agree_on_options(World& world, const CommunicatorOptions& options) {
    SharedOptions mine;
    if (options.table) {
        mine.from = TableFrom::program;
        const std::string table = to_json(*options.table);
        mine.table = fnv1a(std::as_bytes(std::span(table)));
    } else if (!options.table_file.empty()) {
        mine.from = TableFrom::file;
        mine.table_anyway = options.table_anyway;
    }
    if (options.learn) mine.learning_bound = options.learn->bound;
    mine.most_plans = options.most_plans;

    struct OfRank {
        SharedOptions options;
        HostTuning tuning;  // rank 0 decides
        bool knows_all_peers;
    };
    const auto all =
        gather_all(world, OfRank{mine, world.is_first() ? tuning_of_this_host() : HostTuning{},
                                 knows_all_peers(world)});
    const auto expect_equal = [&](const char* option, const auto& describe) {
        const std::string first = describe(all.front().options);
        for (std::size_t rank = 1; rank < all.size(); ++rank)
            if (const std::string other = describe(all[rank].options); other != first)
                throw Error(fmt::format(
                    "{} differs: {} on rank 0, {} on rank {}; use the same on all ranks", option,
                    first, other, rank));
    };
    using Options = SharedOptions;
    expect_equal("table", [](const Options& one) -> std::string {
        if (one.from == TableFrom::none) return "none";
        return one.from == TableFrom::file ? "a file" : fmt::format("{:016x}", one.table);
    });
    expect_equal("table_anyway",
                 [](const Options& one) { return fmt::to_string(one.table_anyway); });
    expect_equal("learn", [](const Options& one) {
        return one.learning_bound == 0 ? "off" : fmt::format("bound {}", one.learning_bound);
    });
    expect_equal("most_plans", [](const Options& one) { return fmt::to_string(one.most_plans); });
    if (std::ranges::all_of(all, &OfRank::knows_all_peers)) trust_known_peers(world);
    return all.front().tuning;
}

}  // namespace tutti
