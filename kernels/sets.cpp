// SPDX-License-Identifier: Apache-2.0
#include "kernels/sets.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/name_table.hpp"

namespace tutti {

ReduceKernel scalar_reduce(DataType, Op, Stores);
DivideKernel scalar_divide(DataType);
ReduceKernel simd128_reduce(DataType, Op, Stores);
DivideKernel simd128_divide(DataType);
ReduceKernel avx2_reduce(DataType, Op, Stores);
DivideKernel avx2_divide(DataType);
ReduceKernel avx512_reduce(DataType, Op, Stores);
DivideKernel avx512_divide(DataType);

namespace {

constexpr KernelSet sets[] = {
#if defined(__x86_64__)
    {"avx512", InstructionSet::avx512, avx512_reduce, avx512_divide},
    {"avx2", InstructionSet::avx2, avx2_reduce, avx2_divide},
#endif
    {"simd128", InstructionSet::baseline, simd128_reduce, simd128_divide},
    {"scalar", InstructionSet::baseline, scalar_reduce, scalar_divide},
};

// Checks each row: a CPU that has a faster set need not have all slower ones.
template <class Find>
auto first_found(std::span<const KernelSet> allowed, Find find) {
    for (const KernelSet& set : allowed)
        if (set.runs_here())
            if (const auto kernel = find(set)) return kernel;
    throw Error(
        "no kernel set has this data type");  // scalar has all: unreachable with a valid table
}

const FastestKernels& kernels_of_process() {
    static const FastestKernels kernels;
    return kernels;
}

}  // namespace

std::span<const KernelSet> kernel_sets() { return sets; }

std::span<const KernelSet> allowed_sets() {
    const char* forced = std::getenv("TUTTI_KERNELS");
    if (forced == nullptr || *forced == '\0') return sets;

    const auto set = std::ranges::find(sets, forced, &KernelSet::name);
    if (set == std::end(sets)) {
        std::vector<std::string> names;
        for (const KernelSet& each : sets) names.emplace_back(each.name);
        throw Error("TUTTI_KERNELS: " + unknown_name("kernel set", forced, names));
    }
    if (!set->runs_here())
        throw Error("TUTTI_KERNELS: this CPU cannot run '" + std::string(forced) + "'; use scalar");
    return {set, std::end(sets)};
}

FastestKernels::FastestKernels() {
    const auto allowed = allowed_sets();
    for (const DataType type : all_data_types()) {
        divide_[as_size(type)] =
            first_found(allowed, [&](const KernelSet& set) { return set.find_divide(type); });
        for (const Op op : all_ops())
            for (const Stores stores : {Stores::cached, Stores::streaming})
                reduce_[as_size(type)][as_size(op)][as_size(stores)] = first_found(
                    allowed, [&](const KernelSet& set) { return set.find(type, op, stores); });
    }
}

ReduceKernel find_reduce(DataType type, Op op, Stores stores) {
    return kernels_of_process().reduce(type, op, stores);
}

DivideKernel find_divide(DataType type) { return kernels_of_process().divide(type); }

}  // namespace tutti
