// SPDX-License-Identifier: Apache-2.0
#include "cli/model_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "autotune/choice/subject.hpp"
#include "autotune/model/model_file.hpp"
#include "autotune/model/model_json.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/tuner/calibration.hpp"

namespace tutti {
namespace {

struct Found {
    CostModel model;
    std::string file;
};

std::optional<Found> in_table(const std::string& file) {
    const Table table = read_table(file);
    if (table.model.empty()) return std::nullopt;
    return Found{model_from_json(table.model, file), file};
}

Found in_file(const std::string& file) {
    if (!std::filesystem::exists(file))
        throw Error(fmt::format("--model '{}': no such file; type stored, none or a file", file));
    try {
        return {read_model(file), file};
    } catch (const Error& as_model) {
        try {
            if (auto found = in_table(file)) return *found;
        } catch (const Error&) {  // neither: the first reason is the one to tell
        }
        throw as_model;
    }
}

// Of other hosts' times nothing can be said. A damaged one is none.
std::optional<Found> stored(const std::string& topology, const std::string& table_file) {
    try {
        if (std::filesystem::exists(table_file))
            if (auto found = in_table(table_file);
                found && found->model.parameters().machine.fingerprint == topology)
                return found;
        const auto path = model_path(topology);
        if (path && std::filesystem::exists(*path)) return Found{read_model(*path), *path};
    } catch (const Error&) {
    }
    return std::nullopt;
}

}  // namespace

std::optional<CostModel> choose_model(World& world, const std::string& choice,
                                      const std::string& table_file,
                                      std::vector<std::string>& notes) {
    if (choice == "none") return std::nullopt;
    const std::string topology = job_shape_of(world).topology;
    std::optional<Found> found;
    std::string refusal;
    if (world.is_first()) try {
            found = choice == "stored" ? stored(topology, table_file) : in_file(choice);
        } catch (const Error& error) {
            refusal = error.what();
        }
    refusal = gather_all_texts(world, refusal)[0];
    if (!refusal.empty()) throw Error(refusal);
    if (found)
        notes.push_back(
            fmt::format("model: calibrated {} on {} ranks, from {}", found->model.parameters().date,
                        fmt::join(found->model.parameters().ranks, " and "), found->file));
    return model_of_first(world, found ? std::optional(found->model) : std::nullopt);
}

}  // namespace tutti
