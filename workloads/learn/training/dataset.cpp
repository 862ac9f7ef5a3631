// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/learn/training/random.hpp"

namespace tutti {

std::span<const float> Dataset::row(int index) const {
    const auto width = as_size(columns);
    return std::span{features}.subspan(as_size(index) * width, width);
}

Dataset digits() { return with_unit_range(parse_libsvm(digits_text(), "the digits set")); }

Dataset with_unit_range(Dataset data) {
    float largest = 0;
    for (const float value : data.features) largest = std::max(largest, std::abs(value));
    if (largest > 0)
        for (float& value : data.features) value /= largest;
    return data;
}

Split split(const Dataset& data) {
    constexpr int test_one_of = 5;
    Split halves;
    for (Dataset* part : {&halves.train, &halves.test}) {
        part->columns = data.columns;
        part->class_names = data.class_names;
    }
    for (int index = 0; index < data.rows(); ++index) {
        const bool tests = index % test_one_of == test_one_of - 1;
        Dataset& part = tests ? halves.test : halves.train;
        const auto row = data.row(index);
        part.features.insert(part.features.end(), row.begin(), row.end());
        part.labels.push_back(at(data.labels, index));
    }
    return halves;
}

std::span<const int> share_of(std::span<const int> batch, Rank rank, int ranks) {
    const auto border = [&](int r) { return batch.size() * as_size(r) / as_size(ranks); };
    const std::size_t from = border(rank.index);
    return batch.subspan(from, border(rank.index + 1) - from);
}

void Batch::take(const Dataset& data, std::span<const int> rows) {
    features.clear();
    labels.clear();
    for (const int index : rows) {
        const auto row = data.row(index);
        features.insert(features.end(), row.begin(), row.end());
        labels.push_back(at(data.labels, index));
    }
}

BatchOrder::BatchOrder(int rows, int batch, unsigned seed) : batch_(batch), state_(seed) {
    if (batch < 1 || batch > rows)
        throw Error(
            fmt::format("a batch of {} rows is more than the {} rows of the data; use 1 to {}",
                        batch, rows, rows));
    order_.resize(as_size(rows));
    std::iota(order_.begin(), order_.end(), 0);
    shuffle();
}

std::span<const int> BatchOrder::next() {
    if (taken_ == batches_per_epoch()) shuffle();
    const auto size = as_size(batch_);
    return std::span<const int>{order_}.subspan(as_size(taken_++) * size, size);
}

void BatchOrder::shuffle() {
    for (std::size_t left = order_.size(); left > 1; --left)
        std::swap(order_[left - 1], order_[next_random(state_) % left]);
    taken_ = 0;
}

}  // namespace tutti
