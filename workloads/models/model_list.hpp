// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "workloads/models/model.hpp"

namespace tutti {

/// The content of one file of workloads/models, which CMake compiles into the program.
struct ModelFile {
    std::string_view name;
    std::string_view text;
};

/// All model files, in the order of the list in workloads/CMakeLists.txt.
std::span<const ModelFile> model_files();

struct ModelEntry {
    std::string name;
    std::string description;
    std::int64_t total = 0;  ///< parameters as published; the model has the same number
    std::string source;      ///< publisher of the total
    std::string paper;
    Model model;
};

/// Reads a model file; docs/reference/models.md describes its fields. Throws Error "FILE:LINE:
/// 'FIELD' ..." if it is not valid.
ModelEntry parse_model(const ModelFile& file);

/// Reads all models at the first call.
std::span<const ModelEntry> model_list();

/// Throws Error with the known names if there is no such model.
const ModelEntry& find_model(std::string_view name);

}  // namespace tutti
