// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/matrix_product.hpp"

#include <cassert>

namespace tutti {

MatrixView matrix(std::span<const float> values, int rows, int columns) {
    assert(values.size() >= static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    return {values.data(), rows, columns, columns, 1};
}

void add_product(MatrixView a, MatrixView b, std::span<float> c) {
    static const AddProduct fastest = fastest_add_product();
    assert(a.columns == b.rows);
    assert(c.size() >= static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(b.columns));
    fastest(a, b, c.data());
}

}  // namespace tutti
