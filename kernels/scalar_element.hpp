// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/fp8.hpp"
#include "base/half.hpp"

namespace tutti {

/// The floats of 16 and 8 bits, which are stored narrow and computed in float.
template <class Element>
concept NarrowFloat = std::is_same_v<Element, Half> || std::is_same_v<Element, BFloat16> ||
    std::is_same_v<Element, Fp8E4M3> || std::is_same_v<Element, Fp8E5M2>;

/// Element number i of memory that may start at any address.
template <class Element>
Element load(const std::byte* elements, std::size_t i) {
    Element element;
    std::memcpy(&element, elements + i * sizeof(Element), sizeof(Element));
    return element;
}

template <class Element>
void store(std::byte* elements, std::size_t i, Element element) {
    std::memcpy(elements + i * sizeof(Element), &element, sizeof(Element));
}

}  // namespace tutti
