// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/search/search_state.hpp"

namespace tutti {

/// What a search has spent, against what racing every arm at every size would take.
class Budget {
public:
    /// Estimates the exhaustive time from what has raced.
    explicit Budget(const SearchState& course);

    /// The larger one of the shares of the samples and of the time that the search may use.
    double share() const;
    bool is_used_up() const { return share() >= 1; }

private:
    const SearchState& course_;
    double samples_limit_ = 0;
    double limit_ns_ = 0;
};

}  // namespace tutti
