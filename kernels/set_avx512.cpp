// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, BW, DQ, VL) adds registers of 64 bytes, and minima and products of 64-bit integers.
// AVX512-BF16 is not used: its rounding flushes subnormals, and was no faster (Zen 5, sum of two in
// L2: 116 GB/s, BFloat16Lanes 126).
#include "kernels/vector_reduce.hpp"
#include "kernels/x86_half_lanes.hpp"

namespace tutti {
namespace {

template <>
struct HalfLanes<32> {
    using Number = float;
    using Stored = Vector<std::uint16_t, 32>;
    using Wide = Vector<float, 64>;
    static constexpr std::size_t bytes = 32;
    static constexpr std::size_t element_bytes = 2;
    using Narrower = HalfLanes<16>;

    // The masks keep every lane. Without a mask GCC 12 warns of an uninitialised value in its
    // header.
    static constexpr __mmask16 all = 0xffff;
    static Wide widen(Stored stored) {
        return _mm512_maskz_cvtph_ps(all, reinterpret_cast<__m256i>(stored));
    }
    static Stored narrow(Wide wide) {
        return reinterpret_cast<Stored>(
            _mm512_maskz_cvtps_ph(all, wide, _MM_FROUND_TO_NEAREST_INT));
    }
};

}  // namespace

ReduceKernel avx512_reduce(DataType type, Op op, Stores stores) {
    return type == DataType::half ? reduce_kernel<HalfLanes<32>>(op, stores)
                                  : vector_reduce<64>(type, op, stores);
}

DivideKernel avx512_divide(DataType type) {
    return type == DataType::half ? divide<HalfLanes<32>> : vector_divide<64>(type);
}

}  // namespace tutti
