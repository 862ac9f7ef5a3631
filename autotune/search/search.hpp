// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "autotune/search/track.hpp"

namespace tutti {

/// What is known of one arm at one size.
struct Evidence {
    int arm = 0;
    std::vector<double> samples_ns;
};

/// What a search found at one size.
struct Finding {
    Bytes size;
    int winner = -1;                ///< arm; -1: nothing can run
    bool measured = false;          ///< else taken over from its neighbours on both sides
    std::vector<Evidence> entries;  ///< of all that raced here, the winner first, then by median
};

struct SearchOptions {
    /// Winners of neighbouring sizes become one where it costs less than this share.
    double hysteresis = 0.03;
    // What else steers the search is here, with its default and its reason.
};

/// The best arm for each of the sizes (ascending), with few races: all arms at some anchors, then
/// bisection in the logarithm of the size where winners differ (Hunold et al. 2018; ACCLAiM 2022;
/// AutoCCL 2025 for the descent over parameters). An arm is dropped only inside a bracket at whose
/// both ends it loses. Ends early where the track is over; what is known then is used.
std::vector<Finding> search(Track& track, std::span<const Bytes> sizes,
                            const SearchOptions& options);

/// Every arm at every size, `repetitions` times: the oracle that a search is measured against.
std::vector<Finding> search_exhaustively(Track& track, std::span<const Bytes> sizes,
                                         int repetitions);

}  // namespace tutti
