// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/base/messages.hpp"
#include "tests/workloads/traces.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/models/model.hpp"
#include "workloads/models/model_list.hpp"

namespace tutti {
namespace {

/// A captured run, and the model in it.
struct Capture {
    const char* file;
    const char* model;
};

const Capture captures[]{{"captured/resnet18_64.rank0.json", "resnet18"},
                         {"captured/resnet50_64.rank0.json", "resnet50"},
                         {"captured/resnet50_224.rank1.json", "resnet50"},
                         {"captured/vgg16_64.rank0.json", "vgg16"},
                         {"captured/gpt2s.rank0.json", "gpt2"}};

std::string grouped(std::int64_t number) {
    auto digits = fmt::format("{}", number);
    for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(digits.begin() + at, ' ');
    return digits;
}

// parse_model compares the number of parameters.
TEST(Models, HaveThePublishedNumberOfTensors) {
    const std::map<std::string_view, std::size_t> published{
        {"resnet18", 62},    {"resnet50", 161},   {"vgg16", 32},         {"bert-base", 199},
        {"bert-large", 391}, {"gpt2", 148},       {"gpt2-xl", 580},      {"llama2-7b", 291},
        {"llama3-8b", 291},  {"llama3-70b", 723}, {"mixtral-8x7b", 995}, {"dlrm", 16}};
    ASSERT_EQ(model_list().size(), published.size());
    for (const auto& entry : model_list())
        EXPECT_EQ(entry.model.parameters.size(), published.at(entry.name)) << entry.name;
}

TEST(Models, OfTransformersHaveAsManyParametersAsTheClosedFormsSay) {
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        if (!model.transformer) continue;
        const auto& t = *model.transformer;
        const auto H = t.hidden, L = t.layers, V = t.vocabulary, S = t.sequence;
        const auto K = H / t.heads * t.kv_heads, F = t.feed_forward, E = t.experts;
        const auto encoder = (V + S + 2 + 2) * H + L * (12 * H * H + 13 * H) + H * H + H;
        const auto decoder = (V + S) * H + L * (12 * H * H + 13 * H) + 2 * H;
        const auto gated =
            2 * V * H + H +
            L * (2 * H * H + 2 * H * K + 2 * H + 3 * E * H * F + (E > 1 ? E * H : 0));
        const bool is_bert = entry.name.starts_with("bert"), is_gpt = entry.name.starts_with("gpt");
        EXPECT_EQ(model.count(), is_bert ? encoder : is_gpt ? decoder : gated) << entry.name;
    }
}

TEST(Models, OfImagesTakeThePublishedMultiplyAdds) {
    // Products of the weights, in 10^9, as published by torchvision.
    const std::map<std::string, double> published{
        {"resnet18", 1.814}, {"resnet50", 4.089}, {"vgg16", 15.470}};
    for (const auto& [name, billions] : published) {
        double flops = 0;
        for (const auto& parameter : find_model(name).model.parameters)
            if (parameter.shape.size() > 1) flops += parameter.forward_flops;
        EXPECT_NEAR(flops / 2e9, billions, 0.001 * billions) << name;
    }
}

TEST(Models, OfTextTakeTwoFlopsForEachUseOfAWeightAndTheAttention) {
    for (const char* name : {"llama2-7b", "llama3-70b"}) {
        const auto model = find_model(name).model;
        const auto& t = *model.transformer;
        const auto S = static_cast<double>(t.sequence);
        const auto norms = static_cast<double>((2 * t.layers + 1) * t.hidden);
        const auto used = static_cast<double>(model.count() - t.vocabulary * t.hidden) - norms;
        const auto attention = 4 * S * S * static_cast<double>(t.hidden * t.layers);
        const double expected = 2 * used * S + norms * S + attention;
        EXPECT_NEAR(model.forward_flops() / expected, 1, 1e-9) << name;
    }
}

TEST(Models, ComeToEachGradientOnce) {
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        auto order = model.ready_order;
        std::sort(order.begin(), order.end());
        std::vector<int> each(model.parameters.size());
        std::iota(each.begin(), each.end(), 0);
        EXPECT_EQ(order, each) << entry.name;
    }
}

TEST(Models, AreCutIntoUnitsThatBecomeReadyOneAfterTheOther) {
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        for (const auto count : model.unit_counts()) EXPECT_GT(count, 0) << entry.name;
        for (std::size_t i = 1; i < model.ready_order.size(); ++i)
            EXPECT_LE(model.parameters[model.ready_order[i]].unit,
                      model.parameters[model.ready_order[i - 1]].unit)
                << entry.name;
        if (!model.transformer) continue;
        EXPECT_EQ(model.units(), model.transformer->layers + 2) << entry.name;
    }
}

TEST(Models, HaveParametersOfDifferentNames) {
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        std::set<std::string> names;
        for (const auto& parameter : model.parameters) names.insert(parameter.name);
        EXPECT_EQ(names.size(), model.parameters.size()) << entry.name;
    }
}

TEST(Models, HaveTheTensorsOfTheCapturedRunsInTheirOrder) {
    for (const auto& [file, name] : captures) {
        TRACE_OR_SKIP(trace, file);
        const auto model = find_model(name).model;
        ASSERT_EQ(trace["params"].size(), model.parameters.size()) << file;
        for (std::size_t i = 0; i < model.parameters.size(); ++i) {
            EXPECT_EQ(trace["params"][i]["shape"], model.parameters[i].shape) << file << " " << i;
            if (model.transformer) continue;  // that run used other short names
            EXPECT_EQ(trace["params"][i]["name"], model.parameters[i].name) << file;
        }
    }
}

TEST(Models, BecomeReadyInTheOrderOfTheCapturedRuns) {
    for (const auto& [file, name] : captures) {
        TRACE_OR_SKIP(trace, file);
        EXPECT_EQ(trace["ready_order"].get<std::vector<int>>(), find_model(name).model.ready_order)
            << file;
    }
}

/// Names of the gradients of one unit as they become ready, less what all of them begin with.
std::vector<std::string> ready_in(const Model& model, int unit, std::size_t prefix) {
    std::vector<std::string> names;
    for (const int parameter : model.ready_order)
        if (model.parameters[parameter].unit == unit)
            names.push_back(model.parameters[parameter].name.substr(prefix));
    return names;
}

TEST(Models, WithGatesBecomeReadyAgainstTheirExecution) {
    using Names = std::vector<std::string>;
    const auto before = std::string("model.layers.0.").size();
    EXPECT_EQ(ready_in(find_model("llama3-8b").model, 1, before),
              (Names{"mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight",
                     "post_attention_layernorm.weight", "self_attn.o_proj.weight",
                     "self_attn.v_proj.weight", "self_attn.k_proj.weight",
                     "self_attn.q_proj.weight", "input_layernorm.weight"}));
    const auto mixtral = ready_in(find_model("mixtral-8x7b").model, 1, before);
    ASSERT_EQ(mixtral.size(), 31u);
    EXPECT_EQ(mixtral[0], "block_sparse_moe.experts.7.w2.weight");
    EXPECT_EQ(mixtral[1], "block_sparse_moe.experts.7.w3.weight");
    EXPECT_EQ(mixtral[2], "block_sparse_moe.experts.7.w1.weight");
    EXPECT_EQ(mixtral[24], "block_sparse_moe.gate.weight");
}

TEST(Models, OfBertEndWithTheEmbeddingsAgainstTheirExecution) {
    const auto before = std::string("embeddings.").size();
    EXPECT_EQ(ready_in(find_model("bert-base").model, 0, before),
              (std::vector<std::string>{"LayerNorm.weight", "LayerNorm.bias",
                                        "position_embeddings.weight",
                                        "token_type_embeddings.weight", "word_embeddings.weight"}));
}

TEST(Models, BroadcastTheBuffersThatTheRecordedResnetDid) {
    const auto buffers = find_model("resnet50").model.buffers;
    ASSERT_EQ(buffers.size(), 2u);
    EXPECT_EQ(buffers[0].count * buffers[0].element.count, 212'480);
    EXPECT_EQ(buffers[1].count * buffers[1].element.count, 424);
    TRACE_OR_SKIP(trace, "param/resnet50_ddp_2gpu_comms.json");
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(trace["comms"][i]["op"], "broadcast");
        EXPECT_EQ(trace["comms"][i]["numel"], buffers[i].count);
        EXPECT_EQ(trace["comms"][i]["elem"], buffers[i].element.count);
    }
}

TEST(Models, ThatAreUnknownAreAnsweredWithTheKnownOnes) {
    EXPECT_TRUE(holds(refusal_by([] { find_model("resnet51"); }), {"resnet50", "mixtral-8x7b"}));
}

/// A small valid model, with one piece of its text replaced.
std::string error_of(std::string_view part, std::string_view with) {
    std::string text =
        "{\"name\": \"m\", \"description\": \"d\", \"parameters\": 12, \"source\": \"s\",\n"
        "\"paper\": \"p\", \"units\": [{\"blocks\": [0, 1], \"layers\": [\n"
        "{\"kind\": \"linear\", \"name\": \"block.{}\", \"shape\": [2, 2]}]}]}";
    if (const auto at = text.find(part); at != text.npos) text.replace(at, part.size(), with);
    return thrown_by([&] { parse_model({.name = "m.json", .text = text}); }).text;
}

TEST(ModelFiles, AreRefusedAtTheLineAndFieldOfTheError) {
    EXPECT_EQ(error_of("", ""), "");
    const struct {
        const char *part, *with, *line, *field;
    } cases[]{{"12", "13", "m.json:1: ", "'parameters'"},
              {"\"s\"", "\"s\", \"typo\": 1", "m.json:1: ", "'typo'"},
              {"[0, 1]", "[1, 0]", "m.json:2: ", "'units[0].blocks'"},
              {"linear", "linaer", "m.json:3: ", "'units[0].layers[0].kind'"},
              {"[2, 2]", "[2, 0]", "m.json:3: ", "'units[0].layers[0].shape[1]'"},
              {"2, 2]}]", "2, 2]}], \"run_order\": [\"x\"]", "m.json:3: ", "'units[0].run_order'"}};
    for (const auto& [part, with, line, field] : cases) {
        const std::string text = error_of(part, with);
        EXPECT_EQ(text.find(line), 0u) << text;
        EXPECT_TRUE(holds(text, field));
    }
}

TEST(Models, AreInTheDocumentationAsTheyAreInTheCode) {
    const auto page = content_of(MODELS_PAGE);
    ASSERT_FALSE(page.empty()) << MODELS_PAGE;
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        const auto buckets = buckets_of(model, Bytes{4});
        std::int64_t largest = 0;
        for (const auto& bucket : buckets) largest = std::max(largest, bucket.count * 4);
        const auto row =
            fmt::format("| `{}` | {} | {} | {} | {} |", entry.name, model.parameters.size(),
                        grouped(model.count()), buckets.size(), grouped(largest));
        EXPECT_NE(page.find(row), page.npos) << "docs/reference/models.md lacks: " << row;
    }
}

TEST(ScaledModels, HaveAboutTheFactorTimesTheElements) {
    for (const auto& entry : model_list())
        for (const double factor : {0.5, 0.1, 0.01}) {
            const auto model = entry.model;
            const auto smaller = scaled(model, factor);
            const auto share =
                static_cast<double>(smaller.count()) / static_cast<double>(model.count());
            EXPECT_NEAR(share / factor, 1, 0.0625) << entry.name << " " << factor;
            EXPECT_NEAR(smaller.forward_flops() / model.forward_flops() / factor, 1, 1e-9);
            EXPECT_EQ(smaller.ready_order, model.ready_order);
        }
}

TEST(ScaledModels, KeepEachTensorsShareWithinASixteenthOrAnElement) {
    const auto model = find_model("gpt2").model;
    const auto smaller = scaled(model, 0.01);
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const double exact = 0.01 * static_cast<double>(model.parameters[i].count());
        EXPECT_NEAR(static_cast<double>(smaller.parameters[i].count()), exact,
                    std::max(1.0, exact / 16))
            << model.parameters[i].name;
    }
}

TEST(ScaledModels, GrowWithTheFactorTensorByTensor) {
    const auto model = find_model("mixtral-8x7b").model;
    std::vector<std::int64_t> before(model.parameters.size(), 1);  // none is empty
    for (double factor = 1e-12; factor <= 1; factor *= 1.7) {
        const auto smaller = scaled(model, factor);
        for (std::size_t i = 0; i < before.size(); ++i) {
            ASSERT_GE(smaller.parameters[i].count(), before[i]) << factor;
            before[i] = smaller.parameters[i].count();
        }
    }
}

TEST(ScaledModels, ByOneAreTheSame) {
    const auto model = find_model("resnet50").model;
    const auto same = scaled(model, 1);
    ASSERT_EQ(same.parameters.size(), model.parameters.size());
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        EXPECT_EQ(same.parameters[i].shape, model.parameters[i].shape);
        EXPECT_EQ(same.parameters[i].forward_flops, model.parameters[i].forward_flops);
    }
    EXPECT_EQ(same.buffers[0].count, model.buffers[0].count);
}

TEST(ScaledModels, AreRefusedForFactorsThatDoNotShrink) {
    const auto model = find_model("dlrm").model;
    for (const double factor : {0.0, -1.0, 1.5, std::nan("")})
        EXPECT_THROW(scaled(model, factor), Error) << factor;
}

}  // namespace
}  // namespace tutti
