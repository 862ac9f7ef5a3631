// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction_set.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti {

#if defined(__x86_64__)
namespace {

// clang 14 does not know the name "f16c". If AVX2 is usable, the system saves its registers, so the
// bit is enough.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

bool runs_here(InstructionSet set) {
    switch (set) {
        case InstructionSet::baseline:
            return true;
        case InstructionSet::avx2:
            return __builtin_cpu_supports("avx2") && has_f16c();
        case InstructionSet::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    return false;
}
#else
bool runs_here(InstructionSet set) { return set == InstructionSet::baseline; }
#endif

}  // namespace tutti
