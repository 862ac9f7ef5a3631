// SPDX-License-Identifier: Apache-2.0
// The reference: one element after the other, as defined. Every other set must give these bits.
#include <cstring>
#include <type_traits>

#include "base/with_type.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

/// Loads element number i of memory that may start at any address.
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

struct Sum {
    static auto of(auto so_far, auto next) { return so_far + next; }
};
struct Product {
    static auto of(auto so_far, auto next) { return so_far * next; }
};

/// Returns the result if neither of two is less: a NaN if one is; of two zeros -0, or, for a
/// maximum, +0, if one is. Combines the bits of both, with the sign inverted before and after for a
/// maximum.
template <class Number>
Number neither_less(Number a, Number b, bool is_max) {
    if constexpr (!std::is_integral_v<Number>) {
        using Bits = std::conditional_t<
            sizeof(Number) == 1, std::uint8_t,
            std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>>;
        const auto sign = static_cast<Bits>(Bits{is_max} << (8 * sizeof(Number) - 1));
        Bits of_a, of_b;
        std::memcpy(&of_a, &a, sizeof a);
        std::memcpy(&of_b, &b, sizeof b);
        const auto both = static_cast<Bits>(((of_a ^ sign) | (of_b ^ sign)) ^ sign);
        std::memcpy(static_cast<void*>(&a), &both, sizeof a);
    }
    return a;
}
struct Min {
    template <class Number>
    static Number of(Number a, Number b) {
        if (a < b) return a;
        return b < a ? b : neither_less(a, b, false);
    }
};
struct Max {
    template <class Number>
    static Number of(Number a, Number b) {
        if (a < b) return b;
        return b < a ? a : neither_less(a, b, true);
    }
};

/// Computes in Wide, which converts to and from the stored type.
template <class Element, class Wide, class Combine>
void reduce(std::byte* const* outs, std::size_t how_many_outs, const std::byte* const* sources,
            std::size_t how_many, std::size_t count) noexcept {
    if (how_many == 1) {  // bit for bit: a round trip through Wide would change a signalling NaN
        for (std::size_t o = 0; o < how_many_outs; ++o)
            if (outs[o] != sources[0] && count > 0)
                std::memcpy(outs[o], sources[0], count * sizeof(Element));
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        // Sign extension leaves the low bits right.  NOLINTNEXTLINE(bugprone-signed-char-misuse)
        auto total = static_cast<Wide>(load<Element>(sources[0], i));
        for (std::size_t s = 1; s < how_many; ++s)
            total = Combine::of(total, static_cast<Wide>(load<Element>(sources[s], i)));
        for (std::size_t o = 0; o < how_many_outs; ++o)
            store(outs[o], i, static_cast<Element>(total));
    }
}

template <class Element, class Adding = Element, class Comparing = Element>
ReduceKernel kernel_for(Op op) {
    constexpr ReduceKernel kernels[] = {
        // in the order of Op; avg is divided afterwards
        reduce<Element, Adding, Sum>, reduce<Element, Adding, Product>,
        reduce<Element, Comparing, Min>, reduce<Element, Comparing, Max>,
        reduce<Element, Adding, Sum>};
    return at(kernels, op);
}

// Unsigned and at least as wide as int, so that neither overflow nor promotion is undefined; the
// low bits, which are kept, are those of the wrapped result.
template <class Integer>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<Integer>>;

/// Divides in Wide, which holds every element and, for integers, every divisor.
template <class Element, class Wide>
void divide(std::byte* data, std::size_t count, std::int64_t divisor) noexcept {
    const auto by = static_cast<Wide>(divisor);
    for (std::size_t i = 0; i < count; ++i)
        store(data, i, static_cast<Element>(static_cast<Wide>(load<Element>(data, i)) / by));
}

}  // namespace

// There are no streaming stores of single elements.
ReduceKernel scalar_reduce(DataType type, Op op, Stores) {
    return with_type(type, [op]<class T>() -> ReduceKernel {
        if constexpr (std::is_integral_v<T>)
            return kernel_for<T, Wrapping<T>>(op);
        else if constexpr (sizeof(T) == 1)    // a minimum or maximum keeps its bits: rounded to a
            return kernel_for<T, float>(op);  // finite number, an infinity would be lost
        else if constexpr (sizeof(T) == 2)
            return kernel_for<T, float, float>(op);
        else
            return kernel_for<T>(op);
    });
}

DivideKernel scalar_divide(DataType type) {
    return with_type(type, []<class T>() -> DivideKernel {
        if constexpr (std::is_unsigned_v<T>)
            return divide<T, std::uint64_t>;
        else if constexpr (std::is_integral_v<T>)
            return divide<T, std::int64_t>;
        else
            return divide<T, std::conditional_t<std::is_same_v<T, double>, double, float>>;
    });
}

}  // namespace tutti
