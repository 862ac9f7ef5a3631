// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/floats.hpp"
#include "base/index.hpp"
#include "base/types.hpp"

namespace tutti {

template <class Answer, class T, class Visit>
constexpr Answer call_with_type(Visit& visit) {
    return visit.template operator()<T>();
}
// A variable instead of a local table, which each call would fill.
template <class Answer, class Visit, class... Types>
constexpr Answer (*calls_with_types[])(Visit&) = {call_with_type<Answer, Types, Visit>...};

/// Calls `visit.template operator()<T>()` with the C++ type T of `type`.
template <class Visit>
constexpr auto with_type(DataType type, Visit visit) {
    const auto among = [&]<class... Types>() {
        using Answer = decltype(visit.template operator()<float>());
        return at(calls_with_types<Answer, Visit, Types...>, type)(visit);
    };
    return among.template operator()<  // in the order of DataType
        std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
        std::uint32_t, std::uint64_t, Fp8E4M3, Fp8E5M2, Half, BFloat16, float, double>();
}

}  // namespace tutti
