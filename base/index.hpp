// SPDX-License-Identifier: Apache-2.0
// Signed counts and positions where the standard library asks for std::size_t. For the size of a
// container as a signed number there is std::ssize, and int_size() where an int is wanted.
#pragma once
#include <cassert>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace tutti {

/// A name that is counted from 0, such as a Rank.
template <class Name>
concept Indexed = requires(const Name& name) {
    { name.index } -> std::convertible_to<int>;
};

/// A count or position that is not negative (asserted), as containers and memory count.
template <std::integral Number>
constexpr std::size_t as_size(Number number) {
    assert(std::in_range<std::size_t>(number));
    return static_cast<std::size_t>(number);
}
constexpr std::size_t as_size(const Indexed auto& name) { return as_size(name.index); }
/// The place of an enumerator among those of its type, as tables by type are ordered.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::size_t as_size(Enum value) { return static_cast<std::size_t>(value); }

/// The element at this place of a vector, span, array or anything else with []. In builds with
/// assertions the place must exist, where the container knows its size.
template <class Container, class Place>
constexpr decltype(auto) at(Container&& container, const Place& place) {
    if constexpr (requires { std::size(container); }) assert(as_size(place) < std::size(container));
    return std::forward<Container>(container)[as_size(place)];
}

/// How many elements, as an int (asserted to fit).
template <class Container>
constexpr int int_size(const Container& container) {
    assert(std::in_range<int>(std::size(container)));
    return static_cast<int>(std::size(container));
}

}  // namespace tutti
#pragma GCC visibility pop
