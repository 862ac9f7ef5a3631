// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "base/floats.hpp"
#include "base/types.hpp"

namespace tutti {

using Memory = std::vector<std::byte>;

template <class Element>
Memory memory_of(const std::vector<Element>& elements) {
    Memory memory(elements.size() * sizeof(Element));
    if (!elements.empty()) std::memcpy(memory.data(), elements.data(), memory.size());
    return memory;
}

template <class Element>
std::vector<Element> elements_of(const Memory& memory) {
    std::vector<Element> elements(memory.size() / sizeof(Element));
    if (!elements.empty()) std::memcpy(elements.data(), memory.data(), memory.size());
    return elements;
}

/// Calls action(Element{}) with the C++ type of `type`.
template <class Action>
auto with_element(DataType type, Action action) {
    switch (type) {
        case DataType::int8:
            return action(std::int8_t{});
        case DataType::int16:
            return action(std::int16_t{});
        case DataType::int32:
            return action(std::int32_t{});
        case DataType::int64:
            return action(std::int64_t{});
        case DataType::uint8:
            return action(std::uint8_t{});
        case DataType::uint16:
            return action(std::uint16_t{});
        case DataType::uint32:
            return action(std::uint32_t{});
        case DataType::uint64:
            return action(std::uint64_t{});
        case DataType::fp8_e4m3:
            return action(Fp8E4M3{});
        case DataType::fp8_e5m2:
            return action(Fp8E5M2{});
        case DataType::half:
            return action(Half{});
        case DataType::bfloat16:
            return action(BFloat16{});
        case DataType::float32:
            return action(float{});
        case DataType::float64:
            break;
    }
    return action(double{});
}

template <class Element>
constexpr bool is_float = !std::is_integral_v<Element>;

template <class Element>
Element element_of_bits(std::uint64_t bits) {
    Element element;
    std::memcpy(static_cast<void*>(&element), &bits, sizeof element);
    return element;
}

/// Returns a value at a limit of rounding, sign or range; never a NaN.
template <class Element>
Element special_value(std::mt19937_64& random) {
    using Limits = std::numeric_limits<float>;
    const double edges[] = {0.0,
                            -0.0,
                            1.0,
                            -1.0,
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::max(),
                            Limits::min(),
                            -Limits::min() / 2,
                            Limits::denorm_min(),
                            65504.0,
                            -0x1p-24,
                            0x1p-14};
    return static_cast<Element>(static_cast<float>(edges[random() % std::size(edges)]));
}

/// Returns any bits for integers. Half of the floats are of similar size, so that sums round; the
/// others are special or any bits but those of a NaN (a sum of two NaNs has no defined payload).
template <class Element>
Element random_element(std::mt19937_64& random) {
    if constexpr (is_float<Element>) {
        if (random() % 2 == 0)
            return static_cast<Element>(static_cast<float>(random() % 4001) / 128.0f - 15.0f);
        if (random() % 2 == 0) return special_value<Element>(random);
    }
    const auto element = element_of_bits<Element>(random());
    if constexpr (is_float<Element>)
        if (std::isnan(static_cast<double>(static_cast<float>(element)))) return Element(1.0f);
    return element;
}

/// Returns `count` elements, each made by draw(Element{}).
template <class Draw>
Memory filled_memory(DataType type, std::size_t count, Draw draw) {
    return with_element(type, [&](auto zero) {
        std::vector<decltype(zero)> elements(count);
        for (auto& element : elements) element = draw(zero);
        return memory_of(elements);
    });
}

}  // namespace tutti
