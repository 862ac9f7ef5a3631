// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <concepts>
#include <type_traits>

namespace tutti {

/// Returns `amount` / `unit`, rounded up. `amount` >= 0, `unit` >= 1.
template <std::integral Amount>
constexpr Amount divide_up(Amount amount, std::type_identity_t<Amount> unit) {
    return (amount + unit - 1) / unit;
}

/// Returns the smallest multiple of `unit` that is not less than `amount`.
template <std::integral Amount>
constexpr Amount round_up(Amount amount, std::type_identity_t<Amount> unit) {
    return divide_up(amount, unit) * unit;
}

/// Rounds to one decimal: more digits of a measured number would be noise.
inline double to_tenths(double number) { return std::round(number * 10) / 10; }

}  // namespace tutti
