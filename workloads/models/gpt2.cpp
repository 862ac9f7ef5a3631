// SPDX-License-Identifier: Apache-2.0
// A decoder whose head is the word embedding once more: its gradient begins with the backward pass
// and is complete when that is over, so that its bucket cannot be hidden. Radford et al. 2019.
#include <fmt/format.h>

#include "workloads/models/model_writer.hpp"

namespace tutti {
namespace {

/// Parameters: (V + S) H + L (12 H^2 + 13 H) + 2 H.
Model gpt2_of(std::string name, const Transformer& shape) {
    ModelWriter writer(std::move(name));
    writer.model().transformer = shape;
    const auto hidden = shape.hidden;
    const auto tokens = static_cast<double>(shape.sequence);
    const auto vocabulary = static_cast<double>(shape.vocabulary);

    writer.run({writer.table("wte", shape.vocabulary, hidden)});
    writer.run({writer.table("wpe", shape.sequence, hidden)});
    for (int i = 0; i < shape.layers; ++i) {
        writer.next_unit();
        const auto linear = [&](const char* part, std::int64_t from, std::int64_t to) {
            return writer.linear(fmt::format("h.{}.{}", i, part), from, to, tokens);
        };
        const auto norm = [&](const char* part) {
            return writer.norm(fmt::format("h.{}.{}", i, part), hidden, tokens);
        };
        writer.run({norm("ln_1")});
        writer.run({linear("attn.c_attn", hidden, 3 * hidden)});
        writer.compute(shape.attention_flops());
        writer.run({linear("attn.c_proj", hidden, hidden)});
        writer.run({norm("ln_2")});
        writer.run({linear("mlp.c_fc", hidden, shape.feed_forward)});
        writer.run({linear("mlp.c_proj", shape.feed_forward, hidden)});
    }
    writer.next_unit();
    writer.run({writer.norm("ln_f", hidden, tokens)});
    writer.compute(2 * vocabulary * static_cast<double>(hidden) * tokens);  // the tied head
    return std::move(writer).done();
}

}  // namespace

Model gpt2() {
    return gpt2_of("gpt2", {.layers = 12,
                            .hidden = 768,
                            .heads = 12,
                            .kv_heads = 12,
                            .feed_forward = 3072,
                            .vocabulary = 50257,
                            .sequence = 1024});
}

Model gpt2_xl() {
    return gpt2_of("gpt2-xl", {.layers = 48,
                               .hidden = 1600,
                               .heads = 25,
                               .kv_heads = 25,
                               .feed_forward = 6400,
                               .vocabulary = 50257,
                               .sequence = 1024});
}

}  // namespace tutti
