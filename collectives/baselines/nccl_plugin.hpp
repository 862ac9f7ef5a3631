// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "collectives/baselines/tutti_nccl.h"

namespace tutti {

/// The running NCCL's tuner, if it is libtutti_nccl.so: it makes NCCL use an algorithm.
class NcclPlugin {
public:
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

}  // namespace tutti
