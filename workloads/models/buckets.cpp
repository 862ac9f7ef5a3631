// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/buckets.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace tutti {
namespace {

std::vector<std::int64_t> counts_of(const Model& model) {
    std::vector<std::int64_t> counts;
    for (const auto& parameter : model.parameters) counts.push_back(parameter.count());
    return counts;
}

std::vector<int> as_registered(const Model& model) {
    std::vector<int> order(model.parameters.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
}

}  // namespace

std::vector<Bucket> buckets_of(std::span<const std::int64_t> counts, std::span<const int> order,
                               Bytes element, BucketCaps caps) {
    if (element.count < 1) throw Error("an element of a gradient has at least 1 byte");
    if (caps.first.count < 1 || caps.others.count < 1)
        throw Error("a bucket's cap is at least 1 byte; 1 puts each gradient into its own bucket");
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
    return buckets_of(counts_of(model), model.ready_order, element, caps);
}

std::vector<Bucket> first_step_bucket(const Model& model) {
    return {{as_registered(model), model.count()}};
}

std::vector<Bucket> buckets_by_registration(const Model& model, Bytes element, BucketCaps caps) {
    auto buckets = buckets_of(counts_of(model), as_registered(model), element, caps);
    std::reverse(buckets.begin(), buckets.end());
    return buckets;
}

}  // namespace tutti
