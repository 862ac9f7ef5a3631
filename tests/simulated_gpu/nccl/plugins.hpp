// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/library/nccl/published.hpp"

namespace tutti::simulated {

/// A collective as NCCL describes it to plugins.
struct Described {
    int function = -1;  ///< NCCL's number; -1: messages between two ranks
    const char* name = "";
    std::size_t bytes = 0;  ///< the larger one of all sent and all received bytes
    std::size_t count = 0;
    const char* type = "";
};

/// The tuner and the profiler that the environment names, asked as NCCL 2.28.9 does (version 5).
/// The simulated GPUs are on one host without NVLS and CollNet, and a communicator has at most 8
/// channels.
class Plugins {
public:
    Plugins(std::uint64_t communicator, int ranks, int rank);
    ~Plugins();
    Plugins(const Plugins&) = delete;

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

    const Tuner* tuner_ = nullptr;
    const Profiler* profiler_ = nullptr;
    void* tuner_context_ = nullptr;
    void* profiler_context_ = nullptr;
    int mask_ = 0, ranks_;
    std::uint64_t sequence_ = 0;
    std::vector<std::pair<void*, int>> running_;  // handles and their channels
};

}  // namespace tutti::simulated
