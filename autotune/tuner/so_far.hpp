// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <vector>

#include "autotune/search/caching_evaluator.hpp"
#include "autotune/search/search.hpp"

namespace tutti {

/// All samples of a search that is under way: what would be known if it ended now.
class SoFar {
public:
    void add(const KeptSamples& race);

    /// Of each size what the plain medians say; no winner where nothing has raced.
    std::vector<Finding> findings(std::span<const Bytes> sizes) const;

private:
    std::map<Bytes, SamplesByArm> samples_;
};

}  // namespace tutti
