// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "autotune/model/model_json.hpp"
#include "base/error.hpp"
#include "base/replace_file.hpp"
#include "results/limits.hpp"

namespace tutti {

std::optional<std::filesystem::path> model_path(const std::string& fingerprint) {
    const auto beside = limits_path(fingerprint);
    if (!beside) return std::nullopt;
    return beside->parent_path() / fmt::format("model-{}.json", fingerprint);
}

CostModel read_model(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream.good() || text.str().empty())
        throw Error(fmt::format("cannot read the cost model '{}'; calibrate again", path.string()));
    return model_from_json(text.str(), path.string());
}

void keep_model(const CostModel& model, const std::filesystem::path& path) {
    replace_file(path, to_json(model) + '\n', "the cost model");
}

CostModel merged(const CostModel& older, const CostModel& newer) {
    ModelParameters all = newer.parameters();
    const ModelParameters& before = older.parameters();
    if (!(before.machine == all.machine)) return newer;
    all.within.insert(before.within.begin(), before.within.end());
    all.across.insert(before.across.begin(), before.across.end());
    std::vector<int> ranks;
    std::ranges::set_union(before.ranks, all.ranks, std::back_inserter(ranks));
    all.ranks = std::move(ranks);
    return CostModel(std::move(all));
}

}  // namespace tutti
