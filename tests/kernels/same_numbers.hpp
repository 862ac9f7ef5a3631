// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/kernels/test_data.hpp"

namespace tutti::device {

/// Whether the bytes are equal, or, element by element, equal or both a NaN, whose payload is
/// unspecified.
inline bool same_numbers(DataType type, const std::byte* a, const std::byte* b, std::size_t count) {
    if (count == 0 || std::memcmp(a, b, count * size_of(type)) == 0) return true;
    return with_element(type, [&](auto zero) {
        using Element = decltype(zero);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = i * sizeof(Element);
            if (std::memcmp(a + at, b + at, sizeof(Element)) == 0) continue;
            if constexpr (is_float<Element>) {
                const auto is_nan = [&](const std::byte* from) {
                    Element element;
                    std::memcpy(static_cast<void*>(&element), from + at, sizeof element);
                    return std::isnan(static_cast<float>(element));
                };
                if (is_nan(a) && is_nan(b)) continue;
            }
            return false;
        }
        return true;
    });
}

}  // namespace tutti::device
