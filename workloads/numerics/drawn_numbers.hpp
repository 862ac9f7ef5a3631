// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/index.hpp"
#include "results/records/numerics.hpp"
#include "workloads/check/check_values.hpp"
#include "workloads/numerics/ulp.hpp"

namespace tutti {

/// The random numbers that a rank adds, by position, so that any rank can ask for any other's. Of
/// w, drawn from all words of 64 bits, and T's p bits of significand:
/// - uniform: w / 2^64, rounded to T;
/// - cancelling: the same of w as a signed number / 2^63;
/// - wide: +-(2^(p-1) + k) 2^(e-p+1), where k is the upper p - 1 bits of w, and sign and exponent e
///   are drawn from the word behind it. E bounds e on both sides: half of T's largest exponent, or
///   less, so that no sum over the ranks overflows.
template <class T>
class DrawnNumbers {
public:
    DrawnNumbers(std::uint64_t seed, Draw draw, Rank rank, int ranks)
        : noise_(check_data::Noise{seed}.branch(static_cast<int>(draw)).branch(rank.index)),
          draw_(draw),
          widest_(widest_exponent(ranks)) {}

    static int widest_exponent(int ranks) {
        constexpr int most = check_data::exact_exponents<T>;
        const int of_sums = std::bit_width(static_cast<unsigned>(ranks));
        return std::clamp(most - 1 - of_sums, 0, most / 2);
    }

    T at(std::int64_t position) const {
        const std::uint64_t word = noise_.at(position);
        switch (draw_) {
            case Draw::uniform:
                return rounded(std::ldexp(static_cast<double>(word), -64));
            case Draw::cancelling:
                return rounded(
                    std::ldexp(static_cast<double>(static_cast<std::int64_t>(word)), -63));
            default:
                return rounded(wide(word, check_data::scramble(word)));
        }
    }

private:
    static T rounded(double number) { return T(static_cast<check_data::WideOf<T>>(number)); }

    double wide(std::uint64_t word, std::uint64_t behind) const {
        constexpr int p = significant_bits<T>;
        constexpr std::uint64_t hidden = std::uint64_t{1} << (p - 1);
        const auto exponents = static_cast<std::uint64_t>(2 * widest_ + 1);
        const int exponent = static_cast<int>(behind % exponents) - widest_;
        const double size =
            std::ldexp(static_cast<double>(hidden | (word >> (65 - p))), exponent - (p - 1));
        return (behind >> 63) != 0 ? -size : size;
    }

    check_data::Noise noise_;
    Draw draw_;
    int widest_;
};

}  // namespace tutti
