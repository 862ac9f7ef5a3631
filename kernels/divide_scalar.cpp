// SPDX-License-Identifier: Apache-2.0
// The truth of division, as reduce_scalar.cpp is of reduction.
#include "kernels/scalar_element.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

/// Divides in Wide, which holds every element and, for integers, every divisor.
template <class Element, class Wide>
void divide(std::byte* data, std::size_t count, std::int64_t divisor) noexcept {
    const auto by = static_cast<Wide>(divisor);
    for (std::size_t i = 0; i < count; ++i)
        store(data, i, static_cast<Element>(static_cast<Wide>(load<Element>(data, i)) / by));
}

}  // namespace

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
