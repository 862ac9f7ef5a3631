// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <new>
#include <string>

#include "collectives/world/world.hpp"

namespace tutti {

/// Runs `work`, then lets the ranks agree that it went well: where it throws Error or
/// std::bad_alloc on some of them, Error with the first one's words is thrown on all, so that none
/// goes on into a collective that the others never enter. Collective; `work` need not be.
inline void done_by_all(World& world, const std::function<void()>& work) {
    std::string problem;
    try {
        work();
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late: all notice
        problem = error.what();
    } catch (const std::bad_alloc&) {
        problem = "no memory left; type a smaller -e or --counts";
    }
    if (true_on_all_ranks(world, problem.empty())) return;
    const auto problems = gather_all_texts(world, problem);
    const auto first = std::ranges::find_if(problems, std::not_fn(&std::string::empty));
    const auto rank = first - problems.begin();
    throw Error(rank == 0 ? *first : *first + " (on rank " + std::to_string(rank) + ")");
}

}  // namespace tutti
