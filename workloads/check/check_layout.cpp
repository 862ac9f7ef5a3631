// SPDX-License-Identifier: Apache-2.0
#include "workloads/check/check_layout.hpp"

namespace tutti {

std::int64_t input_count(const CheckCase& check, Rank rank) {
    const bool is_root = rank.index == check.root;
    switch (check.collective) {
        case Collective::all_reduce:
        case Collective::reduce:
        case Collective::all_gather:
        case Collective::gather:
            return check.count;
        case Collective::reduce_scatter:
        case Collective::all_to_all:
            return check.count * check.ranks;
        case Collective::broadcast:
            return is_root ? check.count : 0;
        case Collective::scatter:
            return is_root ? check.count * check.ranks : 0;
    }
    return 0;
}

std::int64_t result_count(const CheckCase& check, Rank rank) {
    std::int64_t count = 0;
    for (const check_data::Run& run : check_data::result_runs(check, rank)) count += run.length;
    return count;
}

namespace check_data {

std::vector<Run> result_runs(const CheckCase& check, Rank rank) {
    const std::int64_t count = check.count;
    const Rank root{check.root};
    const auto block_of_every_rank = [&](std::int64_t first) {
        std::vector<Run> runs;
        for (int source = 0; source < check.ranks; ++source)
            runs.push_back({.source = Rank{source}, .first = first, .length = count});
        return runs;
    };
    switch (check.collective) {
        case Collective::all_reduce:
            return {{.source = rank, .first = 0, .length = count}};
        case Collective::reduce_scatter:
            return {{.source = rank, .first = rank.index * count, .length = count}};
        case Collective::reduce:
            if (rank != root) return {};
            return {{.source = rank, .first = 0, .length = count}};
        case Collective::broadcast:
            return {{.source = root, .first = 0, .length = count}};
        case Collective::scatter:
            return {{.source = root, .first = rank.index * count, .length = count}};
        case Collective::all_gather:
            return block_of_every_rank(0);
        case Collective::gather:
            if (rank != root) return {};
            return block_of_every_rank(0);
        case Collective::all_to_all:
            return block_of_every_rank(rank.index * count);
    }
    return {};
}

}  // namespace check_data
}  // namespace tutti
