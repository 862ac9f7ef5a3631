// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/models/model.hpp"

/// The networks, each family in a file of its name. Shapes, names and order are those of the
/// implementations that the totals in model_list.cpp were published for.
namespace tutti {

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

// One click: 13 numbers, 26 looked-up rows.
Model dlrm();

}  // namespace tutti
