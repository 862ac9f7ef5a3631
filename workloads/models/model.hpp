// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

/// A tensor that is trained, so has a gradient.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    /// One sample, forward; a multiply-add is 2. Work without parameters (attention scores, a head
    /// that is tied to the embedding) counts with the tensor whose gradient is the next to wait for
    /// it.
    double forward_flops = 0;
    /// What is gathered or sent together (a sharded unit, a piece of a pipeline stage): 0 the
    /// embedding or stem, then the blocks, last the head.
    int unit = 0;

    /// Elements.
    std::int64_t count() const;
};

/// What is broadcast before each forward pass, as a batch norm's running statistics.
struct Buffer {
    Bytes element;
    std::int64_t count = 0;
};

/// The sizes from which the messages of tensor, pipeline and expert parallelism follow.
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

    /// Of one layer and one sample: every token's query times every key, and the weighted sum of
    /// the values, each a product of S x H by H x S. A mask saves nothing.
    double attention_flops() const;
};

/// Embedding tables too large for one rank: their rows are looked up where they are, and travel.
struct EmbeddingTables {
    std::int64_t tables = 0;
    std::int64_t dimension = 0;
};

/// A network as the list of its gradients. A value without behaviour.
struct Model {
    std::string name;
    std::vector<Parameter> parameters;  // in the order of registration
    /// Indices into `parameters`, each once: as their gradients become ready in the backward pass.
    std::vector<int> ready_order;
    std::vector<Buffer> buffers;
    std::optional<Transformer> transformer;
    std::optional<EmbeddingTables> tables;

    /// Elements of all parameters.
    std::int64_t count() const;
    /// One sample, forward.
    double forward_flops() const;
    /// Units are 0 .. units()-1; none is empty.
    int units() const;
    /// Elements of each unit's parameters.
    std::vector<std::int64_t> unit_counts() const;
};

/// The model with `factor` times the elements, about, so that it fits into memory: the same
/// tensors in the same order and proportions, none empty; so the flops, the buffers, and a
/// transformer's tokens and a table's row, of which activations are made. 1 changes nothing.
/// Throws Error unless 0 < factor <= 1.
Model scaled(const Model& model, double factor);

}  // namespace tutti
