// SPDX-License-Identifier: Apache-2.0
// The truth: one element after the other, as the definition says. Every other set must give these
// bits.
#include <cstring>
#include <type_traits>

#include "base/fp8.hpp"
#include "base/half.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

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

struct Sum {
    static auto of(auto so_far, auto next) { return so_far + next; }
};
struct Product {
    static auto of(auto so_far, auto next) { return so_far * next; }
};
struct Min {
    static auto of(auto so_far, auto next) { return next < so_far ? next : so_far; }
};
struct Max {
    static auto of(auto so_far, auto next) { return so_far < next ? next : so_far; }
};

/// Computes in Wide, which converts to and from what is stored.
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
    switch (op) {
        case Op::sum:
        case Op::avg:
            return reduce<Element, Adding, Sum>;
        case Op::prod:
            return reduce<Element, Adding, Product>;
        case Op::min:
            return reduce<Element, Comparing, Min>;
        case Op::max:
            return reduce<Element, Comparing, Max>;
    }
    return nullptr;
}

// Unsigned and at least as wide as int, so that neither overflow nor promotion is undefined; the
// low bits, which are kept, are those of the wrapped result.
template <class Integer>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<Integer>>;

template <class Integer>
ReduceKernel integer_kernel(Op op) {
    return kernel_for<Integer, Wrapping<Integer>>(op);
}

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
    switch (type) {
        case DataType::int8:
            return integer_kernel<std::int8_t>(op);
        case DataType::int16:
            return integer_kernel<std::int16_t>(op);
        case DataType::int32:
            return integer_kernel<std::int32_t>(op);
        case DataType::int64:
            return integer_kernel<std::int64_t>(op);
        case DataType::uint8:
            return integer_kernel<std::uint8_t>(op);
        case DataType::uint16:
            return integer_kernel<std::uint16_t>(op);
        case DataType::uint32:
            return integer_kernel<std::uint32_t>(op);
        case DataType::uint64:
            return integer_kernel<std::uint64_t>(op);
        case DataType::fp8_e4m3:  // a minimum or maximum keeps its bits: rounded to a finite
            return kernel_for<Fp8E4M3, float>(op);
        case DataType::fp8_e5m2:  // number, an infinity would be lost
            return kernel_for<Fp8E5M2, float>(op);
        case DataType::half:
            return kernel_for<Half, float, float>(op);
        case DataType::bfloat16:
            return kernel_for<BFloat16, float, float>(op);
        case DataType::float32:
            return kernel_for<float>(op);
        case DataType::float64:
            return kernel_for<double>(op);
    }
    return nullptr;
}

DivideKernel scalar_divide(DataType type) {
    switch (type) {
        case DataType::int8:
            return divide<std::int8_t, std::int64_t>;
        case DataType::int16:
            return divide<std::int16_t, std::int64_t>;
        case DataType::int32:
            return divide<std::int32_t, std::int64_t>;
        case DataType::int64:
            return divide<std::int64_t, std::int64_t>;
        case DataType::uint8:
            return divide<std::uint8_t, std::uint64_t>;
        case DataType::uint16:
            return divide<std::uint16_t, std::uint64_t>;
        case DataType::uint32:
            return divide<std::uint32_t, std::uint64_t>;
        case DataType::uint64:
            return divide<std::uint64_t, std::uint64_t>;
        case DataType::fp8_e4m3:
            return divide<Fp8E4M3, float>;
        case DataType::fp8_e5m2:
            return divide<Fp8E5M2, float>;
        case DataType::half:
            return divide<Half, float>;
        case DataType::bfloat16:
            return divide<BFloat16, float>;
        case DataType::float32:
            return divide<float, float>;
        case DataType::float64:
            return divide<double, double>;
    }
    return nullptr;
}

}  // namespace tutti
