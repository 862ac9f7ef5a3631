// SPDX-License-Identifier: Apache-2.0
// Elements in vector registers, in GCC's vector language. Each instruction set compiles the
// vector_*.hpp separately with its own flags. So all of it is in an unnamed namespace and calls no
// inline function from elsewhere: the linker keeps one copy of those, and if it kept one with
// AVX-512 inside, older CPUs would stop there. A test looks for such copies.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tutti {
namespace {

template <class Element, std::size_t bytes>
struct VectorOf {
    using type [[gnu::vector_size(bytes)]] = Element;
};
template <class Element, std::size_t bytes>
using Vector = typename VectorOf<Element, bytes>::type;

/// Returns half the width, down to the 16 bytes that every CPU has; below that, one element.
constexpr std::size_t narrower(std::size_t bytes, std::size_t element_bytes) {
    return bytes > 16 ? bytes / 2 : element_bytes;
}

/// Lanes define the bytes that they hold in memory, the type to compute in, the conversions between
/// both, and the lanes for data that is too short for them. Plain lanes compute in the stored type.
template <class Element, std::size_t size>
struct PlainLanes {
    using Number = Element;
    using Stored = Vector<Element, size>;
    using Wide = Stored;
    static constexpr std::size_t bytes = size;
    static constexpr std::size_t element_bytes = sizeof(Element);
    using Narrower = PlainLanes<Element, narrower(size, sizeof(Element))>;

    static Wide widen(Stored stored) { return stored; }
    static Stored narrow(Wide wide) { return wide; }
};

/// Two vectors with the same operations.
template <class Lane>
struct Pair {
    Lane even, odd;
};
template <class Lane>
Pair<Lane> operator/(Pair<Lane> pair, float divisor) {
    return {pair.even / divisor, pair.odd / divisor};
}

/// bfloat16, computed in float. A word holds two, and each is a float without its lower half: so
/// they are separated and joined without moving data across the register.
template <std::size_t size>
struct BFloat16Lanes {
    using Number = float;
    using Stored = Vector<std::uint32_t, (size < 4 ? 4 : size)>;
    using Floats = Vector<float, sizeof(Stored)>;
    using Wide = Pair<Floats>;
    static constexpr std::size_t bytes = size;
    static constexpr std::size_t element_bytes = 2;
    using Narrower = BFloat16Lanes<narrower(size, 2)>;

    static Wide widen(Stored two) {
        return {reinterpret_cast<Floats>(two << 16), reinterpret_cast<Floats>(two & 0xffff0000u)};
    }
    static Stored narrow(Wide wide) {
        return (rounded(wide.even) >> 16) | (rounded(wide.odd) & 0xffff0000u);
    }

private:
    // Rounds into the upper half of each word, like BFloat16(float) of base/floats.hpp.
    static Stored rounded(Floats number) {
        const Stored word = reinterpret_cast<Stored>(number);
        const Stored nearest_even = word + 0x7fffu + ((word >> 16) & 1u);
        const Stored quiet_nan = word | 0x400000u;
        return number == number ? nearest_even : quiet_nan;
    }
};

template <class Lanes>
[[gnu::always_inline]] inline typename Lanes::Wide load(const std::byte* from) {
    typename Lanes::Stored stored{};
    __builtin_memcpy(&stored, from, Lanes::bytes);
    return Lanes::widen(stored);
}

}  // namespace
}  // namespace tutti
