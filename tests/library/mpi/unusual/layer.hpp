// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Number of calls of an MPI function by its name MPI_X, made by the program or a library.
struct LayerCount {
    const char* function;
    long calls;
};
/// Returns the functions that were called. The list ends with an element whose function is null.
extern "C" const LayerCount* layer_counts();
