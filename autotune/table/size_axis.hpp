// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "autotune/table/table.hpp"

namespace tutti {

/// The sizes that a decision map shows: from 8 bytes up to 4 MiB, or one octave beyond the last
/// change of a choice and the largest measured size, in steps of a factor of 2.
class SizeAxis {
public:
    explicit SizeAxis(const Table& table) {
        for (const Section& section : table.sections)
            for (const Range& range : section.ranges) {
                show(range.from);
                for (const RangeEvidence& seen : range.evidence) show(seen.size);
            }
    }

    int octaves() const { return last_ - first_; }

    /// The size so many octaves from the left.
    Bytes size_at(double octave) const {
        return {static_cast<std::int64_t>(std::exp2(first_ + octave))};
    }

    /// How many octaves from the left a size is, within the axis.
    double place_of(Bytes size) const {
        const auto count = static_cast<double>(std::max<std::int64_t>(size.count, 1));
        return std::clamp(std::log2(count) - first_, 0.0, static_cast<double>(octaves()));
    }

private:
    void show(Bytes size) {
        constexpr int largest = 62;
        const auto count = static_cast<double>(std::max<std::int64_t>(size.count, 1));
        last_ = std::clamp(static_cast<int>(std::log2(count)) + 1, last_, largest);
    }

    int first_ = 3;
    int last_ = 22;
};

}  // namespace tutti
