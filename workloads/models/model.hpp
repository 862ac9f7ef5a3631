// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

/// A tensor with a gradient.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    /// Flops of one sample, forward; a multiply-add is 2. Work without parameters (attention
    /// scores, a head tied to the embedding) counts with the tensor whose gradient is the next to
    /// wait for it.
    double forward_flops = 0;
    /// Parameters of a unit are gathered or sent together (as a sharded unit, or as a part of a
    /// pipeline stage). 0 is the embedding or stem, then come the blocks, last the head.
    int unit = 0;

    /// Returns the number of elements.
    std::int64_t count() const;
};

/// Values that are broadcast before each forward pass, such as a batch norm's running statistics.
struct Buffer {
    Bytes element;
    std::int64_t count = 0;
};

/// The sizes that determine messages of tensor, pipeline and expert parallelism.
struct Transformer {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t feed_forward = 0;
    std::int64_t vocabulary = 0;
    std::int64_t sequence = 0;  // tokens of one sample
    std::int64_t experts = 1;
    std::int64_t experts_per_token = 1;
};

/// Embedding tables too large for one rank: each row is looked up on its owner and sent.
struct EmbeddingTables {
    std::int64_t tables = 0;
    std::int64_t dimension = 0;
};

/// A network as the list of its gradients.
struct Model {
    std::string name;
    std::vector<Parameter> parameters;  // in the order of registration
    /// Indices into `parameters`, each once, in the order in which gradients become ready in
    /// backward.
    std::vector<int> ready_order;
    std::vector<Buffer> buffers;
    std::optional<Transformer> transformer;
    std::optional<EmbeddingTables> tables;

    /// Returns the elements of all parameters.
    std::int64_t count() const;
    /// Returns the flops of one sample, forward.
    double forward_flops() const;
    /// Returns the number of units; none is empty.
    int units() const;
    /// Returns the elements of each unit's parameters.
    std::vector<std::int64_t> unit_counts() const;
};

/// Returns the model with about `factor` times the elements, so that it fits into memory: the same
/// tensors in the same order and proportions, none empty. Scales the flops, the buffers, a
/// transformer's tokens and a table's row as well, which determine activations. Throws Error unless
/// 0 < factor <= 1.
Model scaled(const Model& model, double factor);

}  // namespace tutti
