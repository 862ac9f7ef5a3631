// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

// Numbers written to a base, the radix of an algorithm. With most_radix, all fit an int for any
// rank count that a schedule can have.
namespace tutti {

inline int power(int radix, int exponent) {
    int result = 1;
    while (exponent-- > 0) result *= radix;
    return result;
}

/// The digits that ranks 0 .. ranks-1 have: ceil(log ranks).
inline int rounds_to_reach(int ranks, int radix) {
    int rounds = 0;
    for (int reached = 1; reached < ranks; reached *= radix) ++rounds;
    return rounds;
}

/// The digit that stands for multiples of `place`, a power of the radix.
inline int digit_of(int number, int place, int radix) { return number / place % radix; }

/// The largest power of the radix up to `ranks`.
inline int power_within(int ranks, int radix) {
    int within = 1;
    while (within <= ranks / radix) within *= radix;
    return within;
}

}  // namespace tutti
