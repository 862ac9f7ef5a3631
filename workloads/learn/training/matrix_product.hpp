// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

namespace tutti {

/// A matrix in someone else's memory, read by steps, so that its transpose is the same memory.
struct MatrixView {
    const float* data = nullptr;
    int rows = 0;
    int columns = 0;
    std::ptrdiff_t row_step = 0;
    std::ptrdiff_t column_step = 1;

    MatrixView transposed() const { return {data, columns, rows, column_step, row_step}; }
};

/// Row after row of `columns`. Needs rows * columns values, which is asserted.
MatrixView matrix(std::span<const float> values, int rows, int columns);

/// Computes c += a b, c row after row, on one core, without allocating.
///
/// Each element of c gains its products one by one in the order of a's columns, rounded after each
/// multiplication and each addition. So the result does not depend on the number of rows and
/// columns, and is the same bit for bit with every instruction set.
void add_product(MatrixView a, MatrixView b, std::span<float> c);

/// The same by the instruction sets that every machine of this kind has; what the others are
/// tested against.
void add_product_portable(MatrixView a, MatrixView b, float* c);

/// The fastest for this machine.
using AddProduct = void (*)(MatrixView a, MatrixView b, float* c);
AddProduct fastest_add_product();

}  // namespace tutti
