// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/nccl_plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "base/library_file.hpp"
#include "base/source.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/nccl_choice.hpp"
#include "collectives/baselines/tutti_nccl.h"

namespace tutti {
namespace {

constexpr const char* plugin_variable = "NCCL_TUNER_PLUGIN";

std::string plugin_file() {
    const char* const file = std::getenv(plugin_variable);
    return file == nullptr ? "" : file;
}

// NCCL's names for the algorithms that it has for a collective.
struct CollectiveOfNccl {
    Collective collective;
    std::vector<std::string> algorithms;
};

const std::vector<CollectiveOfNccl>& collectives_of_nccl() {
    static const std::vector<std::string> ring{"ring-ll", "ring-ll128", "ring-simple"};
    static const auto with_ring = [](std::vector<std::string> others) {
        others.insert(others.end(), ring.begin(), ring.end());
        return others;
    };
    static const std::vector<CollectiveOfNccl> all{
        {Collective::all_reduce,
         with_ring({"tree-ll", "tree-ll128", "tree-simple", "collnet-direct-simple",
                    "collnet-chain-simple", "nvls-simple", "nvls-tree-simple"})},
        {Collective::reduce_scatter,
         with_ring({"pat-simple", "collnet-direct-simple", "nvls-simple"})},
        {Collective::all_gather, with_ring({"pat-simple", "collnet-direct-simple", "nvls-simple"})},
        {Collective::broadcast, ring},
        {Collective::reduce, ring},
    };
    return all;
}

}  // namespace

// A tuner of the user's own stays in force.
void allow_forced_nccl_algorithms() {
    for (const char* name : {"libtutti_nccl.so", "tutti/libtutti_nccl.so"})  // built, installed
        if (const auto file = library_file(name))
            setenv(plugin_variable, file->c_str(), /*overwrite=*/0);
}

std::vector<std::string> nccl_algorithm_names(Collective collective) {
    constexpr int channels[] = {1, 2, 4, 8, 16, 32};
    std::vector<std::string> names;
    for (const CollectiveOfNccl& row : collectives_of_nccl()) {
        if (row.collective != collective) continue;
        for (const std::string& algorithm : row.algorithms) {
            names.push_back(algorithm);
            if (!limits_channels(parse_nccl_choice(algorithm), /*hosts=*/1)) continue;
            for (const int number : channels)
                names.push_back(fmt::format("{}-{}", algorithm, number));
        }
    }
    return names;
}

NcclPlugin::NcclPlugin() {
    const std::string file = plugin_file();
    if (file.empty()) {
        missing_ = "libtutti_nccl.so was not found; set NCCL_TUNER_PLUGIN to its full path";
        return;
    }
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
        force_ = reinterpret_cast<tutti_nccl_force_function*>(dlsym(library, "tutti_nccl_force"));
        count_ = reinterpret_cast<tutti_nccl_count_function*>(dlsym(library, "tutti_nccl_count"));
    }
    if (force_ == nullptr || count_ == nullptr)
        missing_ = fmt::format(
            "{} {} cannot be loaded as libtutti_nccl.so; unset it, or use its full path",
            plugin_variable, in_quotes(file, 200));
}

const NcclPlugin& NcclPlugin::loaded() {
    static const NcclPlugin plugin;
    in_use_ = &plugin;
    return plugin;
}

const NcclPlugin* NcclPlugin::in_use() { return in_use_; }

void NcclPlugin::force(const std::string& algorithm) const {
    if (force_ != nullptr) force_(algorithm.c_str());
}

tutti_nccl_counts NcclPlugin::counts() const {
    tutti_nccl_counts counts{};
    if (count_ != nullptr) count_(&counts);
    return counts;
}

}  // namespace tutti
