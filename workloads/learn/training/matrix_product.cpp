// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/matrix_product.hpp"

#include <cassert>

#include "base/index.hpp"
#include "kernels/instruction_set.hpp"

namespace tutti {

MatrixView matrix(std::span<const float> values, int rows, int columns) {
    assert(values.size() >= as_size(rows) * as_size(columns));
    return {values.data(), rows, columns, columns, 1};
}

void add_product_avx2(MatrixView a, MatrixView b, float* c);

AddProduct fastest_add_product() {
    return fastest_of<AddProduct>({
#if defined(__x86_64__)
        {InstructionSet::avx2, add_product_avx2},
#endif
            {InstructionSet::baseline, add_product_portable},
    });
}

void add_product(MatrixView a, MatrixView b, std::span<float> c) {
    static const AddProduct fastest = fastest_add_product();
    assert(a.columns == b.rows);
    assert(c.size() >= as_size(a.rows) * as_size(b.columns));
    fastest(a, b, c.data());
}

}  // namespace tutti
