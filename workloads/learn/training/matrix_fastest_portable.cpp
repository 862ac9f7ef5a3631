// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/matrix_product.hpp"

namespace tutti {

AddProduct fastest_add_product() { return add_product_portable; }

}  // namespace tutti
