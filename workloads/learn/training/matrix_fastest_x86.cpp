// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/matrix_product.hpp"

namespace tutti {

void add_product_avx2(MatrixView a, MatrixView b, float* c);

AddProduct fastest_add_product() {
    return __builtin_cpu_supports("avx2") ? add_product_avx2 : add_product_portable;
}

}  // namespace tutti
