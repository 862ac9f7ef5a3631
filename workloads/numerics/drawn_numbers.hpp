// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "results/records/numerics.hpp"
#include "workloads/check/check_number.hpp"
#include "workloads/check/check_values.hpp"

namespace tutti {

/// A sum of doubles without rounding, unless a part overflows: non-overlapping parts from the least
/// to the greatest (Shewchuk 1997).
class ExactSum {
public:
    void clear() { parts_.clear(); }

    void add(double number) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            double less = parts_[i];
            if (std::fabs(number) < std::fabs(less)) std::swap(number, less);
            const double sum = number + less;
            const double lost = less - (sum - number);  // exact, as `number` is the larger one
            if (lost != 0) parts_[kept++] = lost;
            number = sum;
        }
        parts_.resize(kept);
        if (number != 0) parts_.push_back(number);
    }

    /// Rounds to a double; the error is at most one unit in the last place.
    double rounded() const {
        double sum = 0;
        for (const double part : parts_) sum += part;
        return sum;
    }

private:
    std::vector<double> parts_;
};

/// A sum with twice the precision of a double: `sum` + `rest`.
struct PreciseSum {
    double sum = 0;
    double rest = 0;
};

/// Destroys `exact`.
inline PreciseSum precise(ExactSum& exact) {
    const double sum = exact.rounded();
    exact.add(-sum);
    return {sum, exact.rounded()};
}

/// Exact for every type except the integers.
template <class T>
double as_double(T number) {
    return static_cast<double>(static_cast<check_data::WideOf<T>>(number));
}

/// Number of bits of T's significand, including the hidden one.
template <class T>
inline constexpr int significant_bits =
    std::countr_zero(static_cast<std::uint64_t>(check_data::exact_integers<T>));

/// Returns the unit in the last place of T at `number`: the distance of its neighbours of T in its
/// binade. Around 0, that of the subnormal numbers.
template <class T>
double ulp_at(double number) {
    // Exponent of the smallest normal number
    constexpr int lowest = -check_data::exact_exponents<T>;
    const int exponent = number == 0 ? lowest : std::max(std::ilogb(number), lowest);
    return std::ldexp(1.0, exponent - (significant_bits<T> - 1));
}

/// Returns the distance of a result from the exact sum in units of T's last place at that sum: at
/// most 0.5 after one rounding. Infinite if the result is not finite.
template <class T>
double error_in_ulp(T result, const PreciseSum& exact) {
    const double number = as_double(result);
    if (!std::isfinite(number)) return INFINITY;
    return std::fabs((number - exact.sum) - exact.rest) / ulp_at<T>(exact.sum);
}

/// The random numbers that a rank contributes, by position, so that each rank can compute those of
/// any other. From w, drawn from all words of 64 bits, and T's p bits of significand:
/// - uniform: w / 2^64, rounded to T;
/// - cancelling: w as a signed number / 2^63, rounded to T;
/// - wide: +-(2^(p-1) + k) 2^(e-p+1), where k is the upper p - 1 bits of w, and sign and exponent e
/// are drawn from the next word. E bounds e on both sides: half of T's largest exponent, or less,
/// so that no sum over the ranks overflows.
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

    double wide(std::uint64_t word, std::uint64_t scrambled) const {
        constexpr int p = significant_bits<T>;
        constexpr std::uint64_t hidden = std::uint64_t{1} << (p - 1);
        const auto exponents = static_cast<std::uint64_t>(2 * widest_ + 1);
        const int exponent = static_cast<int>(scrambled % exponents) - widest_;
        const double size =
            std::ldexp(static_cast<double>(hidden | (word >> (65 - p))), exponent - (p - 1));
        return (scrambled >> 63) != 0 ? -size : size;
    }

    check_data::Noise noise_;
    Draw draw_;
    int widest_;
};

}  // namespace tutti
