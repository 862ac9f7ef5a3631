// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/library/nccl/published.hpp"

namespace tutti::simulated {

constexpr int algorithms = 7, protocols = 3, most_channels = 8;

/// The algorithms that NCCL may use for a call.
struct Selection {
    /// By algorithm and protocol; those of others count as not available.
    std::array<std::array<bool, protocols>, algorithms> excluded = {};
    bool is_forced = false;  ///< the call fails without them
    int channels = most_channels;
};

/// A collective as NCCL describes it to plugins.
struct Described {
    int function = -1;  ///< NCCL's number; -1: messages between two ranks
    const char* name = "";
    std::size_t bytes = 0;  ///< the larger one of all sent and all received bytes
    std::size_t count = 0;
    const char* type = "";
    Selection selection = {};
};

/// The choice for each call, with the tuner and the profiler that the environment names, asked as
/// NCCL 2.28.9 does (version 5). Older versions than 2.22 have no tuner, and obey NCCL_ALGO and
/// NCCL_PROTO as they are when the communicator is made. Lines in the file SIMULATED_NCCL_LOG tell
/// what ran: version, rank, collective, bytes, algorithm, protocol, channels.
/// The simulated GPUs are on one host without NVLS and CollNet, and a communicator has at most 8
/// channels.
class Plugins {
public:
    Plugins(std::uint64_t communicator, int ranks, int rank, int channels);
    ~Plugins();
    Plugins(const Plugins&) = delete;

    /// Returns whether any algorithm is available for the call.
    bool can_launch(const Described& call) const;
    /// Asks the tuner, and tells the profiler what runs. Returns the profiler's handle.
    void* launch(const Described& call);
    /// Tells the profiler that all channels have run, some of them longer than others.
    void end(void* handle);

private:
    using Tuner = nccl_host::TunerV5<nccl_host::ConstantsV5>;
    using Profiler = nccl_host::ProfilerV5<nccl_host::EventV5>;
    struct Choice {
        int algorithm, protocol, channels;
    };
    Choice choose(const Described& call) const;
    void log_launch(const Described& call, const Choice& choice) const;

    const Tuner* tuner_ = nullptr;
    const Profiler* profiler_ = nullptr;
    void* tuner_context_ = nullptr;
    void* profiler_context_ = nullptr;
    int mask_ = 0, ranks_, rank_, channels_;
    Selection of_environment_;
    std::uint64_t sequence_ = 0;
    std::vector<std::pair<void*, int>> running_;  // handles and their channels
};

}  // namespace tutti::simulated
