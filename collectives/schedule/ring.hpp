// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "collectives/schedule/transfer.hpp"

namespace tutti {

/// Ranks seated in a circle: the only place that knows modular arithmetic.
class Ring {
public:
    explicit Ring(int ranks) : ranks_(ranks) {}

    Rank ahead(Rank r, int places) const { return {(r.index + places) % ranks_}; }
    Rank behind(Rank r, int places) const {
        return {(r.index - places % ranks_ + ranks_) % ranks_};
    }
    Rank next(Rank r) const { return ahead(r, 1); }

    /// The chunks of `count` neighbours from `first` on, where rank r owns chunk r:
    /// one run of chunks, or two where the circle closes. Empty runs have count 0.
    std::array<Chunks, 2> arc(Rank first, int count) const {
        const int before_wrap = count < ranks_ - first.index ? count : ranks_ - first.index;
        return {Chunks{first.index, before_wrap}, Chunks{0, count - before_wrap}};
    }

private:
    int ranks_;
};

}  // namespace tutti
