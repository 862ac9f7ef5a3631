// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/baselines/tutti_nccl.h"

namespace tutti {

/// The running NCCL's tuner, if it is libtutti_nccl.so: it makes NCCL use an algorithm.
class NcclPlugin {
public:
    /// Makes NCCL load the plugin. Call it before NCCL starts.
    static void let_nccl_load();
    /// Returns the plugin of this process. Call it after NCCL has started.
    static const NcclPlugin& loaded();
    /// Returns it if loaded() was called before, else null.
    static const NcclPlugin* in_use();

    /// Returns why no algorithm can be forced; nothing if that is possible.
    const std::optional<std::string>& missing() const { return missing_; }

    /// Forces an algorithm (see parse_nccl_choice) for the next calls, or none if it is empty.
    void force(const std::string& algorithm) const;
    /// Returns how often NCCL used a forced algorithm, and how often it could not.
    tutti_nccl_counts counts() const;

private:
    NcclPlugin();

    static inline std::atomic<const NcclPlugin*> in_use_{nullptr};

    std::optional<std::string> missing_;
    int (*force_)(const char*) = nullptr;
    void (*count_)(tutti_nccl_counts*) = nullptr;
};

/// The running NCCL's profiler, if it is libtutti_nccl.so: it tells which algorithms NCCL uses.
class NcclProfiler {
public:
    /// Makes NCCL load the plugin, which then measures no times. Call it before NCCL starts.
    static void let_nccl_load();
    /// Returns the profiler of this process; null if it is not libtutti_nccl.so. Call it after NCCL
    /// has started.
    static const NcclProfiler* loaded();

    std::uint64_t last_call() const { return last_call_(); }
    /// Returns the algorithm, protocol and channels of a rank's first call of this collective after
    /// another one: "tree-ll128-4". Empty if there was none.
    std::string choice_after(std::uint64_t call, int rank, std::string_view collective) const;

private:
    NcclProfiler();

    uint64_t (*last_call_)() = nullptr;
    std::size_t (*calls_)(std::uint64_t, tutti_nccl_call*, std::size_t) = nullptr;
};

}  // namespace tutti
