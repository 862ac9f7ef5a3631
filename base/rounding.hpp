// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <concepts>
#include <type_traits>

namespace tutti {

/// `amount` / `unit`, rounded up: how many units hold it. `amount` >= 0, `unit` >= 1.
template <std::integral Amount>
constexpr Amount divide_up(Amount amount, std::type_identity_t<Amount> unit) {
    return (amount + unit - 1) / unit;
}

/// The least multiple of `unit` that is no less than `amount`.
template <std::integral Amount>
constexpr Amount round_up(Amount amount, std::type_identity_t<Amount> unit) {
    return divide_up(amount, unit) * unit;
}

/// One digit behind the point: more of a measured number would be noise, and make long lines.
inline double to_tenths(double number) { return std::round(number * 10) / 10; }

}  // namespace tutti
