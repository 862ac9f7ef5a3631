// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/index.hpp"
#include "base/types.hpp"
#include "kernels/instruction_set.hpp"

namespace tutti {

/// How results are stored. `cached`: by ordinary stores. `streaming`: bypassing the caches, for
/// results that do not fit them; ends with a store fence, so that a later release store publishes
/// them. A hint that does not affect the result: without such instructions it means `cached`.
enum class Stores { cached, streaming };

/// outs[o][i] = ((s0[i] op s1[i]) op s2[i]) ... for each of `how_many_outs` and `count` elements
/// (not bytes) of `how_many` >= 1 sources, in one pass over memory; one source is copied bit for
/// bit. Any alignment. An out may be one or more of the sources exactly, and must not overlap any
/// of them partly, nor another out. half, bfloat16 and fp8 are added up in float and rounded once,
/// to nearest even. Integers wrap round. min and max are those of IEEE 754-2019 (minimum, maximum),
/// so that ranks that begin with different sources get the same: a NaN makes a NaN, and -0 is less
/// than +0.
using ReduceKernel = void (*)(std::byte* const* outs, std::size_t how_many_outs,
                              const std::byte* const* sources, std::size_t how_many,
                              std::size_t count) noexcept;

/// data[i] /= divisor in place, for `count` elements (not bytes) and divisor >= 1. Any alignment.
/// half, bfloat16 and fp8 are divided in float and rounded; integers truncate towards zero.
using DivideKernel = void (*)(std::byte* data, std::size_t count, std::int64_t divisor) noexcept;

/// The kernels of one instruction set. All sets give the same bits, except sign and payload of a
/// NaN that results from two numbers. A finder returns nullptr for operations that its set does not
/// speed up.
struct KernelSet {
    std::string_view name;
    InstructionSet needs;
    ReduceKernel (*find)(DataType, Op, Stores);
    DivideKernel (*find_divide)(DataType);

    bool runs_here() const { return tutti::runs_here(needs); }
};

/// Returns every set of this build, fastest first; the last is `scalar`, which runs anywhere and
/// has all kernels.
std::span<const KernelSet> kernel_sets();

/// Returns the rows that FastestKernels chooses from: all, or, if the environment
/// variable TUTTI_KERNELS names a set, that one and those below it. Throws Error if it names no
/// set, or one that this CPU cannot run.
std::span<const KernelSet> allowed_sets();

/// The fastest kernels that this CPU can run.
class FastestKernels {
public:
    /// Chooses from allowed_sets(), and throws Error as that does.
    FastestKernels();

    /// Op::avg is reduced as sum, and divide() turns that into a mean.
    ReduceKernel reduce(DataType type, Op op, Stores stores) const {
        return reduce_[as_size(type)][as_size(op)][as_size(stores)];
    }
    DivideKernel divide(DataType type) const { return divide_[as_size(type)]; }

private:
    static constexpr std::size_t types = as_size(DataType::float64) + 1;
    static constexpr std::size_t ops = as_size(Op::avg) + 1;
    static constexpr std::size_t kinds_of_stores = as_size(Stores::streaming) + 1;

    ReduceKernel reduce_[types][ops][kinds_of_stores] = {};
    DivideKernel divide_[types] = {};
};

/// Return the fastest kernel for all calls of this process: only the first call queries the CPU and
/// the environment. Throw Error as allowed_sets() does.
ReduceKernel find_reduce(DataType type, Op op, Stores stores = Stores::cached);
DivideKernel find_divide(DataType type);

}  // namespace tutti
