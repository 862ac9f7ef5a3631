// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/nccl_forcing.hpp"

#include "base/index.hpp"

namespace tutti {
namespace {

// NCCL's own names, in the order of nccl_algorithms and nccl_protocols. It ignores case.
struct NamesInNccl {
    const char* in_calls;
    const char* in_environment;
};
constexpr NamesInNccl algorithms_in_nccl[] = {
    {"TREE", "Tree"},
    {"RING", "Ring"},
    {"COLLNET_DIRECT", "CollNetDirect"},
    {"COLLNET_CHAIN", "CollNetChain"},
    {"NVLS", "NVLS"},
    {"NVLSTREE", "NVLSTree"},
    {"PAT", "PAT"},
};
constexpr const char* protocols_in_nccl[] = {"LL", "LL128", "SIMPLE"};
static_assert(std::size(algorithms_in_nccl) == std::size(nccl_algorithms));
static_assert(std::size(protocols_in_nccl) == std::size(nccl_protocols));

}  // namespace

NcclForcing forcing_of_nccl(int version) {
    constexpr int first_with_call_settings = nccl::CallConfig::first_version;
    constexpr int first_with_tuner_v3 = 22200;
    return version >= first_with_call_settings ? NcclForcing::by_call
           : version >= first_with_tuner_v3    ? NcclForcing::by_tuner
                                               : NcclForcing::by_environment;
}

std::map<std::string, std::string> nccl_environment_of(const NcclChoice& choice) {
    std::map<std::string, std::string> environment{
        {"NCCL_ALGO", at(algorithms_in_nccl, choice.algorithm).in_environment}};
    if (choice.protocol != NcclChoice::by_nccl)
        environment.emplace("NCCL_PROTO", at(protocols_in_nccl, choice.protocol));
    return environment;
}

// The underscore after the algorithm is needed, as NVLS is the beginning of NVLSTREE.
std::string nccl::name_in_calls(const NcclChoice& choice) {
    std::string name = at(algorithms_in_nccl, choice.algorithm).in_calls;
    name += '_';
    if (choice.protocol != NcclChoice::by_nccl) name += at(protocols_in_nccl, choice.protocol);
    return name;
}

nccl::CallConfig nccl::config_forcing(const NcclChoice& choice, const std::string& name) {
    CallConfig config;
    config.algorithms = name.c_str();
    if (choice.channels != 0) config.most_channels = config.nvls_channels = choice.channels;
    return config;
}

}  // namespace tutti
