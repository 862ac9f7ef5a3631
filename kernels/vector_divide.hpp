// SPDX-License-Identifier: Apache-2.0
// Division over lanes, for the float types: integers have no vector division. See vector_lanes.hpp
// for the reason of the unnamed namespace.
#pragma once
#include "kernels/sets.hpp"
#include "kernels/vector_pass.hpp"

namespace tutti {
namespace {

template <class Number>
struct Quotient {
    const std::byte* data;
    Number divisor;

    template <class Lanes, std::size_t vectors>
    [[gnu::always_inline]] Block<Lanes, vectors> block(std::size_t offset) const {
        Block<Lanes, vectors> result;
        for (std::size_t v = 0; v < vectors; ++v)
            result.at[v] = Lanes::narrow(load<Lanes>(data + offset + v * Lanes::bytes) / divisor);
        return result;
    }
};

/// The DivideKernel of one type.
template <class Lanes>
void divide(std::byte* data, std::size_t count, std::int64_t divisor) noexcept {
    using Number = typename Lanes::Number;
    any_pass<Lanes, short_block<Lanes>>(Few<std::byte, 1>(&data), {0, count * Lanes::element_bytes},
                                        Quotient<Number>{data, static_cast<Number>(divisor)});
}

/// Returns kernels of registers `bytes` wide; none for half, whose conversion differs between sets.
template <std::size_t bytes>
DivideKernel vector_divide(DataType type) {
    switch (type) {
        case DataType::bfloat16:
            return divide<BFloat16Lanes<bytes>>;
        case DataType::float32:
            return divide<PlainLanes<float, bytes>>;
        case DataType::float64:
            return divide<PlainLanes<double, bytes>>;
        default:
            return nullptr;
    }
}

}  // namespace
}  // namespace tutti
