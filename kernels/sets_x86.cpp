// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>

#include "kernels/sets.hpp"

namespace tutti {

ReduceKernel scalar_reduce(DataType, Op, Stores);
DivideKernel scalar_divide(DataType);
ReduceKernel simd128_reduce(DataType, Op, Stores);
DivideKernel simd128_divide(DataType);
ReduceKernel avx2_reduce(DataType, Op, Stores);
DivideKernel avx2_divide(DataType);
ReduceKernel avx512_reduce(DataType, Op, Stores);
DivideKernel avx512_divide(DataType);

namespace {

bool anywhere() { return true; }

// clang 14 does not know the name "f16c". Where AVX2 is usable its registers are saved, so the bit
// is enough.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && has_f16c(); }

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

constexpr KernelSet rows[] = {
    {"avx512", has_avx512, avx512_reduce, avx512_divide},
    {"avx2", has_avx2, avx2_reduce, avx2_divide},
    {"simd128", anywhere, simd128_reduce, simd128_divide},
    {"scalar", anywhere, scalar_reduce, scalar_divide},
};

}  // namespace

std::span<const KernelSet> kernel_sets() { return rows; }

}  // namespace tutti
