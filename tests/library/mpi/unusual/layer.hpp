// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How often the program, or a library, has called a function of MPI by its first name.
struct LayerCount {
    const char* function;
    long calls;
};
/// Functions that were called; after the last one comes one without a name.
extern "C" const LayerCount* layer_counts();
