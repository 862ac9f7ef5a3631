// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "autotune/table/table.hpp"

namespace tutti {

/// Returns a short text of a choice: "chain/shm s64K r4 c2" for a segment of 64K, radix 4 and 2
/// channels.
std::string short_text(const Configuration& choice);

/// Returns "1.23 us [1.20, 1.31]", or "~1.23 us" for a predicted time.
std::string to_string(const TimeInterval& time);

/// Returns "1.52 [1.40, 1.61] mpi".
std::string gain_text(const HoldOut& hold_out);

/// Returns the comparison of a range's choice with the library's default, or of a kept default with
/// its challenger; none if there was none.
std::optional<HoldOut> gain_of(const Range& range, const RangeEvidence& seen);

/// Returns the evidence to show for a range: the one in its middle, preferably with a library
/// comparison; null if there is no evidence.
const RangeEvidence* typical_evidence(const Range& range);

/// Returns "ring/shm +12%": the runner-up and how much slower it was; empty if there is none.
std::string runner_up_text(const RangeEvidence& evidence);

/// Returns "2 ring/shm, 1 tree/shm": the choices of the launches if they differ; else empty.
std::string votes_text(const RangeEvidence& evidence);

/// Returns a remark on a section, such as "search incomplete"; empty if there is none.
std::string remark_on(const Section& section);

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

    /// Returns the size at this many octaves from the left.
    Bytes size_at(double octave) const {
        return {static_cast<std::int64_t>(std::exp2(first_ + octave))};
    }

    /// Returns how many octaves from the left a size is, within the axis.
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
