// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_table.hpp"
#include "results/records/key.hpp"

namespace tutti {

/// The random numbers that are added up: from [0, 1]; from [-1, 1], which cancel; of both signs
/// with a wide range of exponents.
enum class Draw { uniform, cancelling, wide };
template <>
struct NamesOf<Draw> {
    static constexpr const char* kind = "data";
    static constexpr Named<Draw> rows[] = {
        {Draw::uniform, "uniform"}, {Draw::cancelling, "cancelling"}, {Draw::wide, "wide"}};
};

/// The accuracy of sums of such numbers.
struct NumericsOfDraw {
    Draw draw = Draw::uniform;
    /// The largest distance from the exact sum, in units of the type's last place at that sum;
    /// none: a result was no finite number.
    std::optional<double> max_ulp;
    std::optional<bool> ranks_agree;  ///< bit for bit; of all_reduce only
    bool runs_agree = true;           ///< bit for bit, of a call and the next one
    std::string checksum;             ///< over all ranks' results, 16 hex digits

    bool operator==(const NumericsOfDraw&) const = default;
};

/// The numerical accuracy of one candidate at one size.
struct Numerics {
    std::string session;
    int launch = 1;
    Key key;
    std::int64_t elements = 0;  ///< whose errors were looked at, on the rank with the most
    std::vector<NumericsOfDraw> of;

    bool operator==(const Numerics&) const = default;
};

/// A row for each, below a head that explains the columns: whole lines, newline included. Empty
/// without rows.
std::string numerics_table(std::span<const Numerics> rows);

}  // namespace tutti
