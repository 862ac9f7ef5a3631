// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace tutti {

/// The instruction set that a file may be compiled for beyond the program's minimum (`baseline`).
/// `avx2` includes F16C; `avx512` is F, BW, DQ and VL.
enum class InstructionSet { baseline, avx2, avx512 };

/// Whether this CPU and its system can run it.
bool runs_here(InstructionSet set);

/// One of several implementations of the same function.
template <class Implementation>
struct ForInstructionSet {
    InstructionSet set;
    Implementation implementation;
};

/// Returns the first one that runs here: the table begins with the fastest and ends with
/// `baseline`.
template <class Implementation, std::size_t size>
Implementation fastest_of(const ForInstructionSet<Implementation> (&table)[size]) {
    std::size_t i = 0;
    while (i + 1 < size && !runs_here(table[i].set)) ++i;
    return table[i].implementation;
}

}  // namespace tutti
