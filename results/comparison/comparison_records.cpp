// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/comparison_records.hpp"

#include <cmath>

namespace tutti {

VerdictRecord record_of(const std::string& metric, const Judgement& judgement, const Rule& rule) {
    const Shift& shift = judgement.shift;
    VerdictRecord record{.metric = metric,
                         .verdict = judgement.change,
                         .ratio = std::exp(shift.estimate),
                         .confidence = rule.confidence,
                         .p = judgement.adjusted_p,
                         .noise = std::expm1(judgement.noise),
                         .launches = static_cast<int>(shift.n),
                         .rule = judgement.reason};
    if (!std::isinf(shift.low)) {
        record.low = std::exp(shift.low);
        record.high = std::exp(shift.high);
    }
    if (!std::isinf(judgement.visible)) record.visible = judgement.visible;
    return record;
}

}  // namespace tutti
