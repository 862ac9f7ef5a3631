// SPDX-License-Identifier: Apache-2.0
// Ranks, and signed counts and positions where the standard library expects std::size_t.
#pragma once
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace tutti {

/// One participant of a collective, counted from 0. It is a name, not a number: only `Ring`
/// computes with it.
struct Rank {
    int index = 0;
    auto operator<=>(const Rank&) const = default;
};

/// A type with an index that is counted from 0, such as a Rank.
template <class Name>
concept Indexed = requires(const Name& name) {
    { name.index } -> std::convertible_to<int>;
};

/// Converts a count or position, which is asserted not to be negative.
template <std::integral Number>
constexpr std::size_t as_size(Number number) {
    assert(std::in_range<std::size_t>(number));
    return static_cast<std::size_t>(number);
}
constexpr std::size_t as_size(const Indexed auto& name) { return as_size(name.index); }
/// Returns the position of an enumerator in its type, to index a table of one row each.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::size_t as_size(Enum value) { return static_cast<std::size_t>(value); }

/// Returns the element at this position of a container, or of a pointer. The position is asserted
/// to exist if the container has a size.
template <class Container, class Place>
constexpr decltype(auto) at(Container&& container, const Place& place) {
    if constexpr (requires { std::size(container); }) assert(as_size(place) < std::size(container));
    return std::forward<Container>(container)[as_size(place)];
}

/// Returns the number of elements as an int (asserted to fit).
template <class Container>
constexpr int int_size(const Container& container) {
    assert(std::in_range<int>(std::size(container)));
    return static_cast<int>(std::size(container));
}

}  // namespace tutti
#pragma GCC visibility pop
