// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "workloads/check/check_number.hpp"
#include "workloads/numerics/exact_sum.hpp"

namespace tutti {

/// Exact for every type but the integers.
template <class T>
double as_double(T number) {
    return static_cast<double>(static_cast<check_data::WideOf<T>>(number));
}

/// Bits of T's significand, the hidden one included.
template <class T>
inline constexpr int significant_bits =
    std::countr_zero(static_cast<std::uint64_t>(check_data::exact_integers<T>));

/// The unit in the last place of T at `number`: the distance of its neighbours of T in the binade
/// that it lies in. Around 0 that of the subnormal numbers.
template <class T>
double ulp_at(double number) {
    constexpr int lowest = -check_data::exact_exponents<T>;  // of a normal number
    const int exponent = number == 0 ? lowest : std::max(std::ilogb(number), lowest);
    return std::ldexp(1.0, exponent - (significant_bits<T> - 1));
}

/// How far a result is from the exact sum, in units of T's last place at that sum: at most 0.5
/// where it was rounded once. Infinite where the result is no finite number.
template <class T>
double error_in_ulp(T result, const PreciseSum& exact) {
    const double number = as_double(result);
    if (!std::isfinite(number)) return INFINITY;
    return std::fabs((number - exact.sum) - exact.rest) / ulp_at<T>(exact.sum);
}

}  // namespace tutti
