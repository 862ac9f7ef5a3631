// SPDX-License-Identifier: Apache-2.0
// An encoder: embeddings of words, positions and segments, L layers of attention and feed-forward,
// a pooler. Devlin et al. 2019, arXiv:1810.04805; without a task's head.
#include <fmt/format.h>

#include "workloads/models/model_writer.hpp"

namespace tutti {
namespace {

/// Parameters: (V + S + 2 + 2) H + L (12 H^2 + 13 H) + H^2 + H.
Model bert(std::string name, const Transformer& shape) {
    ModelWriter writer(std::move(name));
    writer.model().transformer = shape;
    const auto hidden = shape.hidden;
    const auto tokens = static_cast<double>(shape.sequence);

    const auto words = writer.table("embeddings.word_embeddings", shape.vocabulary, hidden);
    const auto positions = writer.table("embeddings.position_embeddings", shape.sequence, hidden);
    const auto segments = writer.table("embeddings.token_type_embeddings", 2, hidden);
    const auto norm = writer.norm("embeddings.LayerNorm", hidden, tokens);
    writer.run({words, segments, positions, norm});

    for (int i = 0; i < shape.layers; ++i) {
        writer.next_unit();
        const auto linear = [&](const char* part, std::int64_t from, std::int64_t to) {
            return writer.linear(fmt::format("encoder.layer.{}.{}", i, part), from, to, tokens);
        };
        const auto layer_norm = [&](const char* part) {
            return writer.norm(fmt::format("encoder.layer.{}.{}", i, part), hidden, tokens);
        };
        writer.run({linear("attention.self.query", hidden, hidden)});
        writer.run({linear("attention.self.key", hidden, hidden)});
        writer.run({linear("attention.self.value", hidden, hidden)});
        writer.compute(shape.attention_flops());
        writer.run({linear("attention.output.dense", hidden, hidden)});
        writer.run({layer_norm("attention.output.LayerNorm")});
        writer.run({linear("intermediate.dense", hidden, shape.feed_forward)});
        writer.run({linear("output.dense", shape.feed_forward, hidden)});
        writer.run({layer_norm("output.LayerNorm")});
    }
    writer.next_unit();
    writer.run({writer.linear("pooler.dense", hidden, hidden, 1)});  // the first token alone
    return std::move(writer).done();
}

}  // namespace

Model bert_base() {
    return bert("bert-base", {.layers = 12,
                              .hidden = 768,
                              .heads = 12,
                              .kv_heads = 12,
                              .feed_forward = 3072,
                              .vocabulary = 30522,
                              .sequence = 512});
}

Model bert_large() {
    return bert("bert-large", {.layers = 24,
                               .hidden = 1024,
                               .heads = 16,
                               .kv_heads = 16,
                               .feed_forward = 4096,
                               .vocabulary = 30522,
                               .sequence = 512});
}

}  // namespace tutti
