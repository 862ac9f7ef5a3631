// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/buckets.hpp"

#include "base/error.hpp"

namespace tutti {

std::vector<Bucket> buckets_of(std::span<const std::int64_t> counts, std::span<const int> order,
                               Bytes element, BucketCaps caps) {
    if (element.count < 1) throw Error("the element size of a gradient must be at least 1 byte");
    if (caps.first.count < 1 || caps.others.count < 1)
        throw Error(
            "a bucket's cap must be at least 1 byte; 1 puts each gradient into its own bucket");
    std::vector<Bucket> buckets;
    Bucket open;
    for (const int parameter : order) {
        open.parameters.push_back(parameter);
        open.count += counts[parameter];
        const auto cap = buckets.empty() ? caps.first : caps.others;
        if (open.count * element.count < cap.count) continue;
        buckets.push_back(std::move(open));
        open = {};
    }
    if (!open.parameters.empty()) buckets.push_back(std::move(open));
    return buckets;
}

std::vector<Bucket> buckets_of(const Model& model, Bytes element, BucketCaps caps) {
    std::vector<std::int64_t> counts;
    for (const auto& parameter : model.parameters) counts.push_back(parameter.count());
    return buckets_of(counts, model.ready_order, element, caps);
}

}  // namespace tutti
