// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Maps the kernel's CPU numbers to positions in Host::cores.
class CoreOfCpu {
public:
    explicit CoreOfCpu(const std::vector<Core>& cores) {
        for (std::size_t i = 0; i < cores.size(); ++i)
            for (const int cpu : cores[i].threads) core_of_[cpu] = static_cast<int>(i);
    }

    /// Returns the cores of these CPUs; offline CPUs have none.
    CoreSet of(const std::vector<int>& cpus) const {
        std::set<int> cores;
        for (const int cpu : cpus)
            if (const auto found = core_of_.find(cpu); found != core_of_.end())
                cores.insert(found->second);
        return {cores.begin(), cores.end()};
    }

private:
    std::map<int, int> core_of_;
};

}  // namespace tutti
