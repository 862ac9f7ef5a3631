// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/models/model.hpp"

namespace tutti {

/// Every token's query times every key, and the weighted sum of the values: two products of
/// S x H by H x S, for one layer and one sample. Nothing is saved by what a mask hides.
inline double attention_flops(const Transformer& transformer) {
    const auto tokens = static_cast<double>(transformer.sequence);
    return 4 * tokens * tokens * static_cast<double>(transformer.hidden);
}

}  // namespace tutti
