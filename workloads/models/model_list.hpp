// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "workloads/models/model.hpp"

namespace tutti {

/// What one rank usually takes of a batch.
struct Samples {
    std::int64_t batch = 1;
    std::int64_t sequence = 0;  // tokens of a sample; 0 where a sample is no text
};

/// A row of the one table of models.
struct ModelEntry {
    std::string_view name;
    std::string_view sentence;
    std::int64_t total = 0;  // parameters, as published: what the model is checked against
    std::string_view source;
    Samples samples;
    Model (*build)() = nullptr;
};

std::span<const ModelEntry> model_list();

/// Throws Error with the known names where there is no such model.
const ModelEntry& find_model(std::string_view name);

}  // namespace tutti
