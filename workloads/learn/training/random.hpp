// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace tutti {

/// Returns the next number of splitmix64 (Steele, Lea & Flood 2014), which is the same on every
/// rank and with every standard library, unlike distributions of <random>.
inline std::uint64_t next_random(unsigned long long& state) {
    std::uint64_t mixed = state += 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
}

/// Returns a uniform number in [-1, 1) of 24 bits, which is exact in a float.
inline float next_uniform(unsigned long long& state) {
    return static_cast<float>(next_random(state) >> 40) / 8388608.0f - 1.0f;
}

}  // namespace tutti
