// SPDX-License-Identifier: Apache-2.0
// Decoders without biases, whose queries may share keys and values (kv_heads < heads), with a gated
// feed-forward of three matrices or, in Mixtral, eight such of which a token takes two. The head is
// a matrix of its own. Touvron et al. 2023, arXiv:2307.09288; Grattafiori et al. 2024,
// arXiv:2407.21783; Jiang et al. 2024, arXiv:2401.04088.
#include <fmt/format.h>

#include "workloads/models/model_writer.hpp"

namespace tutti {
namespace {

using Layers = std::vector<Layer>;

// Both register a block's feed-forward and define it as it is run: down(gate(x) * up(x)).

Layers one_feed_forward(ModelWriter& writer, const Transformer& shape, const std::string& block) {
    const auto tokens = static_cast<double>(shape.sequence);
    const auto hidden = shape.hidden, wide = shape.feed_forward;
    const auto gate =
        writer.projection(fmt::format("{}.mlp.gate_proj", block), hidden, wide, tokens);
    const auto up = writer.projection(fmt::format("{}.mlp.up_proj", block), hidden, wide, tokens);
    const auto down =
        writer.projection(fmt::format("{}.mlp.down_proj", block), wide, hidden, tokens);
    return {gate, up, down};
}

Layers mixture_of_experts(ModelWriter& writer, const Transformer& shape, const std::string& block) {
    const auto tokens = static_cast<double>(shape.sequence);
    const auto hidden = shape.hidden, wide = shape.feed_forward;
    const double share = tokens * static_cast<double>(shape.experts_per_token) /
                         static_cast<double>(shape.experts);  // if all experts are liked alike
    const auto moe = fmt::format("{}.block_sparse_moe", block);
    Layers forward{writer.projection(fmt::format("{}.gate", moe), hidden, shape.experts, tokens)};
    for (int e = 0; e < shape.experts; ++e) {
        const auto expert = fmt::format("{}.experts.{}", moe, e);
        const auto gate = writer.projection(fmt::format("{}.w1", expert), hidden, wide, share);
        const auto down = writer.projection(fmt::format("{}.w2", expert), wide, hidden, share);
        const auto up = writer.projection(fmt::format("{}.w3", expert), hidden, wide, share);
        forward.insert(forward.end(), {gate, up, down});
    }
    return forward;
}

void add_block(ModelWriter& writer, const Transformer& shape, const std::string& block) {
    const auto hidden = shape.hidden, narrow = hidden / shape.heads * shape.kv_heads;
    const auto tokens = static_cast<double>(shape.sequence);
    const auto attention = [&](const char* part, std::int64_t from, std::int64_t to) {
        return writer.projection(fmt::format("{}.self_attn.{}", block, part), from, to, tokens);
    };
    const auto query = attention("q_proj", hidden, hidden);
    const auto key = attention("k_proj", hidden, narrow);
    const auto value = attention("v_proj", hidden, narrow);
    const auto output = attention("o_proj", hidden, hidden);
    const auto forward = shape.experts == 1 ? one_feed_forward(writer, shape, block)
                                            : mixture_of_experts(writer, shape, block);
    const auto before = writer.scale(fmt::format("{}.input_layernorm", block), hidden, tokens);
    const auto between =
        writer.scale(fmt::format("{}.post_attention_layernorm", block), hidden, tokens);

    writer.run({before, query, key, value});
    writer.compute(shape.attention_flops());
    writer.run({output, between});
    writer.run(forward);
}

/// Parameters: 2 V H + H + L (2 H^2 + 2 H K + 2 H + 3 E H F), K = H kv_heads / heads; with E > 1
/// experts there are L E H more, which choose among them.
Model llama(std::string name, const Transformer& shape) {
    ModelWriter writer(std::move(name));
    writer.model().transformer = shape;
    const auto tokens = static_cast<double>(shape.sequence);
    writer.run({writer.table("model.embed_tokens", shape.vocabulary, shape.hidden)});
    for (int i = 0; i < shape.layers; ++i) {
        writer.next_unit();
        add_block(writer, shape, fmt::format("model.layers.{}", i));
    }
    writer.next_unit();
    writer.run({writer.scale("model.norm", shape.hidden, tokens)});
    writer.run({writer.projection("lm_head", shape.hidden, shape.vocabulary, tokens)});
    return std::move(writer).done();
}

}  // namespace

Model llama2_7b() {
    return llama("llama2-7b", {.layers = 32,
                               .hidden = 4096,
                               .heads = 32,
                               .kv_heads = 32,
                               .feed_forward = 11008,
                               .vocabulary = 32000,
                               .sequence = 4096});
}

Model llama3_8b() {
    return llama("llama3-8b", {.layers = 32,
                               .hidden = 4096,
                               .heads = 32,
                               .kv_heads = 8,
                               .feed_forward = 14336,
                               .vocabulary = 128256,
                               .sequence = 8192});
}

Model llama3_70b() {
    return llama("llama3-70b", {.layers = 80,
                                .hidden = 8192,
                                .heads = 64,
                                .kv_heads = 8,
                                .feed_forward = 28672,
                                .vocabulary = 128256,
                                .sequence = 8192});
}

Model mixtral_8x7b() {
    return llama("mixtral-8x7b", {.layers = 32,
                                  .hidden = 4096,
                                  .heads = 32,
                                  .kv_heads = 8,
                                  .feed_forward = 14336,
                                  .vocabulary = 32000,
                                  .sequence = 4096,
                                  .experts = 8,
                                  .experts_per_token = 2});
}

}  // namespace tutti
