// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model_list.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/name_table.hpp"

namespace tutti {

// Each family in a file of its name. Shapes, names and order are those of the implementations that
// the totals below were published for.

// Images of 224 x 224.
Model resnet18();
Model resnet50();
Model vgg16();
// Sequences of 512 tokens.
Model bert_base();
Model bert_large();
// Sequences of 1024 tokens.
Model gpt2();
Model gpt2_xl();
// Sequences of 4096 or 8192 tokens.
Model llama2_7b();
Model llama3_8b();
Model llama3_70b();
Model mixtral_8x7b();
// One click: 13 numbers, 26 rows that are looked up.
Model dlrm();

namespace {

// clang-format off
const std::array<ModelEntry, 12> entries{{
    {"resnet18", "residual network of 18 layers", 11'689'512, "torchvision, resnet18", {32, 0}, resnet18},
    {"resnet50", "residual network of 50 layers, with bottlenecks", 25'557'032, "torchvision, resnet50", {32, 0}, resnet50},
    {"vgg16", "13 convolutions, and linear layers of which one is three quarters of the model", 138'357'544, "torchvision, vgg16", {32, 0}, vgg16},
    {"bert-base", "encoder of 12 layers", 109'482'240, "Hugging Face, bert-base-uncased without heads", {8, 512}, bert_base},
    {"bert-large", "encoder of 24 layers", 335'141'888, "Hugging Face, bert-large-uncased without heads", {4, 512}, bert_large},
    {"gpt2", "decoder of 12 layers, head tied to the embedding", 124'439'808, "Hugging Face, gpt2", {4, 1024}, gpt2},
    {"gpt2-xl", "decoder of 48 layers, head tied to the embedding", 1'557'611'200, "Hugging Face, gpt2-xl", {1, 1024}, gpt2_xl},
    {"llama2-7b", "decoder of 32 layers, gated feed-forward", 6'738'415'616, "Hugging Face, meta-llama/Llama-2-7b-hf", {1, 4096}, llama2_7b},
    {"llama3-8b", "decoder of 32 layers, keys and values shared by four queries", 8'030'261'248, "Hugging Face, meta-llama/Meta-Llama-3-8B", {1, 8192}, llama3_8b},
    {"llama3-70b", "decoder of 80 layers, keys and values shared by eight queries", 70'553'706'496, "Hugging Face, meta-llama/Meta-Llama-3-70B", {1, 8192}, llama3_70b},
    {"mixtral-8x7b", "decoder of 32 layers of eight experts, two for a token", 46'702'792'704, "Hugging Face, mistralai/Mixtral-8x7B-v0.1", {1, 4096}, mixtral_8x7b},
    {"dlrm", "recommender: the MLPs around its embedding tables", 2'368'897, "sum of (in+1) out over the layers, sizes as in MLPerf training", {2048, 0}, dlrm},
}};
// clang-format on

}  // namespace

std::span<const ModelEntry> model_list() { return entries; }

const ModelEntry& find_model(std::string_view name) { return find_row(entries, "model", name); }

}  // namespace tutti
