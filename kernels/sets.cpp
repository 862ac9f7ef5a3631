// SPDX-License-Identifier: Apache-2.0
#include "kernels/sets.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "kernels/divide.hpp"
#include "kernels/reduce.hpp"

namespace tutti {
namespace {

// The table is ordered, but a CPU need not have a set because it has a faster one: asked row by
// row.
template <class Find>
auto first_found(Find find) {
    for (const KernelSet& set : allowed_sets())
        if (set.runs_here())
            if (const auto kernel = find(set)) return kernel;
    throw Error(
        "no kernel set has this data type");  // scalar has all: only a broken table gets here
}

}  // namespace

std::span<const KernelSet> allowed_sets() {
    const std::span<const KernelSet> sets = kernel_sets();
    const char* forced = std::getenv("TUTTI_KERNELS");
    if (forced == nullptr || *forced == '\0') return sets;

    const auto set = std::ranges::find(sets, forced, &KernelSet::name);
    if (set == sets.end()) {
        std::vector<std::string> names;
        for (const KernelSet& each : sets) names.emplace_back(each.name);
        throw Error("TUTTI_KERNELS: " + unknown_name("kernel set", forced, names));
    }
    if (!set->runs_here())
        throw Error("TUTTI_KERNELS: this CPU cannot run '" + std::string(forced) + "'; try scalar");
    return sets.subspan(static_cast<std::size_t>(set - sets.begin()));
}

ReduceKernel find_reduce(DataType type, Op op, Stores stores) {
    return first_found([&](const KernelSet& set) { return set.find(type, op, stores); });
}

DivideKernel find_divide(DataType type) {
    return first_found([&](const KernelSet& set) { return set.find_divide(type); });
}

}  // namespace tutti
