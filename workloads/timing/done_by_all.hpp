// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <new>
#include <string>

#include "collectives/world/world.hpp"

namespace tutti {

/// Runs `work`, then makes the ranks agree on success. If it throws Error or std::bad_alloc on some
/// ranks, throws the first one's Error on all, so that no rank enters a collective without the
/// others. Collective; `work` need not be.
inline void done_by_all(World& world, const std::function<void()>& work) {
    std::string problem;
    try {
        work();
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late: all ranks notice
        problem = error.what();
    } catch (const std::bad_alloc&) {
        problem = "no memory left; use a smaller -e or --counts";
    }
    if (true_on_all_ranks(world, problem.empty())) return;
    const auto problems = gather_all_texts(world, problem);
    const auto first = std::ranges::find_if(problems, std::not_fn(&std::string::empty));
    const auto rank = first - problems.begin();
    throw Error(rank == 0 ? *first : *first + " (on rank " + std::to_string(rank) + ")");
}

}  // namespace tutti
