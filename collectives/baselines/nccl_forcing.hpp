// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "collectives/baselines/nccl_choice.hpp"

namespace tutti {

/// How NCCL is made to use an algorithm.
enum class NcclForcing {
    by_environment,  ///< by variables that each communicator reads when it is made
    by_tuner,        ///< by libtutti_nccl.so, which NCCL asks before each call
    by_call,         ///< by the settings of a call
};

/// Returns how to force this version (22809 is 2.28.9).
NcclForcing forcing_of_nccl(int version);

/// Returns the variables that force the algorithm and the protocol of a choice.
std::map<std::string, std::string> nccl_environment_of(const NcclChoice& choice);

namespace nccl {

/// The settings of one call, which functions such as ncclAllReduceConfig take from NCCL 2.31.2 on.
/// Declared from its published interface, as older headers do not have them. Later versions append
/// members, and read as many as `size` says.
struct CallConfig {
    static constexpr unsigned magic_number = 0xcafebeef, first_version = 23102;
    static constexpr int unset = INT_MIN;

    std::size_t size = sizeof(CallConfig);
    unsigned magic = magic_number;
    unsigned version = first_version;
    void* extensions = nullptr;
    int least_channels = unset, most_channels = unset;
    int nvls_channels = unset;
    int cluster_size = unset;
    const char* algorithms = nullptr;  ///< beginnings of names, such as "RING_LL128"
    int must_use_algorithms = 1;       ///< 1: the call fails if NCCL cannot use them
    int channel_policy = unset;
    std::uint64_t profiler_tag = 0;
};
static_assert(sizeof(CallConfig) == 64);
static_assert(offsetof(CallConfig, magic) == 8 && offsetof(CallConfig, version) == 12);
static_assert(offsetof(CallConfig, extensions) == 16 && offsetof(CallConfig, least_channels) == 24);
static_assert(offsetof(CallConfig, most_channels) == 28);
static_assert(offsetof(CallConfig, nvls_channels) == 32 &&
              offsetof(CallConfig, cluster_size) == 36);
static_assert(offsetof(CallConfig, algorithms) == 40 &&
              offsetof(CallConfig, must_use_algorithms) == 48);
static_assert(offsetof(CallConfig, channel_policy) == 52 &&
              offsetof(CallConfig, profiler_tag) == 56);

/// Returns the beginning of the names of a choice in CallConfig: "NVLSTREE_SIMPLE", or "RING_" for
/// all protocols.
std::string name_in_calls(const NcclChoice& choice);

/// Returns the settings that force a choice. `name` is its name_in_calls(), which must outlive
/// them.
CallConfig config_forcing(const NcclChoice& choice, const std::string& name);

}  // namespace nccl
}  // namespace tutti
