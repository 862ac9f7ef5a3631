// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/types.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"

namespace tutti {

struct TensorShape {
    int tensor_ranks = 2;        ///< that share each layer; divides the ranks
    std::int64_t tokens = 1024;  ///< of a batch
    bool sequence_parallel = false;
    DataType type = DataType::float32;
};

/// A step of Megatron-LM (Shoeybi et al. 2019, arXiv:1909.08053): t ranks share every matrix, so
/// that the halves of a layer (attention, feed-forward) each end in a sum of T H activations, in
/// forward and in backward; so does the embedding, and three numbers per token in the loss, whose
/// vocabulary is shared out. All are on the critical path. With sequence parallelism (Korthikanti
/// et al. 2022, arXiv:2205.05198) each half begins with an all-gather and ends with a
/// reduce-scatter; in backward the half's input is gathered once more beside the gradient. The
/// other ranks are data-parallel replicas, D of them: a layer's share of gradients is averaged
/// while backward goes on.
/// A rank sends (4 L + 2) T H b + 12 T bytes, with sequence parallelism
/// (2 + 4 L) T H b + 6 L T H b / t + 12 T; and N b / t of gradients if D > 1.
Program tensor_parallel_program(const Model& model, const TensorShape& shape,
                                std::int64_t compute_ns, int ranks);

}  // namespace tutti
