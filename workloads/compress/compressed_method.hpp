// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/compress/compressed_all_reduce.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// Whether compression changes this call: sums and means of float32 on all ranks. All others are
/// done as they are.
bool is_compressible(const Call& call);

/// A method that compresses gradients, sends them by the collectives of the given method, and gives
/// all ranks the same result, bit for bit, in float32:
///
/// bf16, fp16: an all-reduce of that type, in which each addition is done in float and rounded;
/// int8: each rank adds up, in float, the shares of one part (all-to-all), and all get all parts
/// (all-gather), rounded twice;
/// topk: all-gather of (index, value) pairs, which each rank adds up. What a rank did not send it
/// adds to its next gradients.
///
/// It is called "ring/shm+bf16".
Method compressed(Method method, const Compression& compression);

/// Each method, and after it the same with each compression.
std::vector<Method> with_compressed(std::vector<Method> methods,
                                    std::span<const Compression> compressions);

}  // namespace tutti
