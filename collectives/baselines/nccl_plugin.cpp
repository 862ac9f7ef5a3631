// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/nccl_plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <span>

#include "base/library_file.hpp"
#include "base/source.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/nccl_choice.hpp"
#include "collectives/baselines/tutti_nccl.h"

namespace tutti {
namespace {

constexpr const char* tuner_variable = "NCCL_TUNER_PLUGIN";
constexpr const char* profiler_variable = "NCCL_PROFILER_PLUGIN";

std::string variable_or_nothing(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Returns a function of the plugin that NCCL has loaded; null if it lacks it, or is another one.
template <class Function>
Function* function_of_plugin(const std::string& file, const char* name) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// A plugin of the user's own stays in force.
void set_plugin(const char* variable) {
    for (const char* name : {"libtutti_nccl.so", "tutti/libtutti_nccl.so"})  // built, installed
        if (const auto file = library_file(name)) setenv(variable, file->c_str(), /*overwrite=*/0);
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

void NcclPlugin::let_nccl_load() { set_plugin(tuner_variable); }

NcclPlugin::NcclPlugin() {
    const std::string file = variable_or_nothing(tuner_variable);
    if (file.empty()) {
        missing_ = "libtutti_nccl.so was not found; set NCCL_TUNER_PLUGIN to its full path";
        return;
    }
    force_ = function_of_plugin<tutti_nccl_force_function>(file, "tutti_nccl_force");
    count_ = function_of_plugin<tutti_nccl_count_function>(file, "tutti_nccl_count");
    if (force_ == nullptr || count_ == nullptr)
        missing_ = fmt::format(
            "{} {} cannot be loaded as libtutti_nccl.so; unset it, or use its full path",
            tuner_variable, in_quotes(file, 200));
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

void NcclProfiler::let_nccl_load() {
    if (std::getenv(profiler_variable) != nullptr) return;
    set_plugin(profiler_variable);
    setenv("TUTTI_NCCL_TIMES", "no", /*overwrite=*/0);
}

NcclProfiler::NcclProfiler() {
    const std::string file = variable_or_nothing(profiler_variable);
    if (file.empty()) return;
    last_call_ = function_of_plugin<tutti_nccl_last_call_function>(file, "tutti_nccl_last_call");
    calls_ = function_of_plugin<tutti_nccl_calls_function>(file, "tutti_nccl_calls");
}

const NcclProfiler* NcclProfiler::loaded() {
    static const NcclProfiler profiler;
    const bool is_ours = profiler.last_call_ != nullptr && profiler.calls_ != nullptr;
    return is_ours ? &profiler : nullptr;
}

std::string NcclProfiler::choice_after(std::uint64_t call, int rank,
                                       std::string_view collective) const {
    tutti_nccl_call calls[64];  // ranks that are threads share the log
    const std::size_t number = calls_(call, calls, std::size(calls));
    for (const tutti_nccl_call& one : std::span(calls, number))
        if (one.rank == rank && one.collective == collective)
            return fmt::format("{}-{}-{}", one.algorithm, one.protocol, one.channels);
    return "";
}

}  // namespace tutti
