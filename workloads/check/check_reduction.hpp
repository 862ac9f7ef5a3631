// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace tutti::check_data {

/// Each byte of `poison`. Its second highest bit is set, see `Moved` in check_values.hpp.
inline constexpr std::uint8_t poison_byte = 0xdb;

/// Data to be combined, for all ranks and elements, as bit patterns of the type.  Element i belongs
/// to rank i mod P. Its owner holds `owned[noise]`, noise being a byte drawn for the element; the
/// rank d places before the owner holds `shares[d]`. So the result is `results[noise]` whatever the
/// element: all shares combined with what is owned. As ownership alternates, and no share can stand
/// in for the owned value, P neighbouring elements reveal each rank that is missing or counted
/// twice. As results are drawn, one in the wrong place or of another seed is soon seen to differ.
/// Values are exact in any order, with L a limit of the type and s = min(L/16, L/4P) the largest
/// share; the owner holds more than 4s (avg of integers: more than s): - sum of floats: whole
/// numbers, L = 2^3 e5m2, 2^4 e4m3, 2^8 bfloat16, 2^11 half, 2^24 float, 2^53 double. - prod of
/// floats: +-2^e, so exponents add up; L = 6 e4m3, 14 e5m2 and half, 126 bfloat16 and float, 1022
/// double. - sum, prod of integers: they wrap, so all bits are drawn; factors are odd and not 1. -
/// min, max: shares fill a quarter of the range, what is owned the rest. - avg of floats: as sum,
/// then one division. - avg of integers: totals are k P or k P - 1, so that one more or one less
/// tips the truncated quotient; L = largest value, and nothing wraps.  Where s is 0 only the
/// owner's value counts, and a fault shows on elements of the ranks it hits alone: sum always e5m2,
/// P > 4 e4m3, 64 bfloat16, 512 half; prod always fp8 and half, P > 31 bfloat16, float, 255 double;
/// avg P > 31 int8, 63 uint8. What cannot show: a share taken twice by min or max; a wrong place in
/// avg of uint8 with 2P > L, where all results are 1; anything in avg with P > L, where all are 0.
struct ReductionTable {
    std::vector<std::uint64_t> shares;  // [0] stands for the owner and is not used
    std::array<std::uint64_t, 256> owned;
    std::array<std::uint64_t, 256> results;
};

ReductionTable reduction_table(DataType type, Op op, int ranks);

}  // namespace tutti::check_data
