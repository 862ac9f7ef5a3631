// SPDX-License-Identifier: Apache-2.0
#include "results/key.hpp"

namespace tutti {

std::string candidate_name(const Key& key) {
    if (key.impl == "tutti") return key.order.empty() ? key.algo : key.algo + "@" + key.order;
    if (key.algo.empty() || key.algo == key.impl) return key.impl;
    return key.impl + "/" + key.algo;
}

}  // namespace tutti
