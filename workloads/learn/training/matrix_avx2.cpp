// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/matrix_kernel.hpp"

namespace tutti {

// Without fused multiply-adds, which would round once where the other kernels round twice.
void add_product_avx2(MatrixView a, MatrixView b, float* c) { Product<8>{a, b, c}.add(); }

}  // namespace tutti
