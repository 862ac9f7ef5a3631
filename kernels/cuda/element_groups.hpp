// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/floats.hpp"
#include "base/types.hpp"

namespace tutti {

/// The representation of a data type on the device. Combined has the same bits in sums and
/// products, so that signed and unsigned integers share their kernels.
template <DataType of, class ElementType, class CombinedType = ElementType>
struct ElementKind {
    static constexpr DataType type = of;
    using Element = ElementType;
    using Combined = CombinedType;
};

/// Types whose kernels are in one file, so that several groups compile in parallel.
template <class... Kinds>
struct ElementGroup {
    /// Returns visit() of the kind for the type; null if it is of another group.
    static auto find(DataType type, auto&& visit) {
        decltype((visit(Kinds{}), ...)) found = nullptr;
        ((type == Kinds::type ? void(found = visit(Kinds{})) : void()), ...);
        return found;
    }
};

using SmallIntegers = ElementGroup<ElementKind<DataType::int8, std::int8_t, std::uint8_t>,
                                   ElementKind<DataType::int16, std::int16_t, std::uint16_t>,
                                   ElementKind<DataType::uint8, std::uint8_t>,
                                   ElementKind<DataType::uint16, std::uint16_t>>;
using LargeIntegers = ElementGroup<ElementKind<DataType::int32, std::int32_t, std::uint32_t>,
                                   ElementKind<DataType::int64, std::int64_t, std::uint64_t>,
                                   ElementKind<DataType::uint32, std::uint32_t>,
                                   ElementKind<DataType::uint64, std::uint64_t>>;
using Floats =
    ElementGroup<ElementKind<DataType::half, Half>, ElementKind<DataType::bfloat16, BFloat16>,
                 ElementKind<DataType::float32, float>, ElementKind<DataType::float64, double>>;
using Fp8s = ElementGroup<ElementKind<DataType::fp8_e4m3, Fp8E4M3>,
                          ElementKind<DataType::fp8_e5m2, Fp8E5M2>>;

}  // namespace tutti
