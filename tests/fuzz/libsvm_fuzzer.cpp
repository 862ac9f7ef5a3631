// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives a data set that can be used for training, or a one-line error with the
// file.
#include <algorithm>
#include <cmath>

#include "tests/fuzz/demand.hpp"
#include "workloads/learn/training/dataset.hpp"

namespace {

using namespace tutti;

void use(const Dataset& data) {
    const auto is_class = [&](int label) { return label >= 0 && label < data.classes(); };
    demand(std::ranges::all_of(data.labels, is_class), "labels are classes");
    constexpr std::size_t enough = 1 << 20;  // a short text can have many columns
    if (data.features.size() > enough) return;
    const Dataset scaled = with_unit_range(data);
    demand(std::ranges::all_of(scaled.features, [](float x) { return std::abs(x) <= 1; }),
           "features are from -1 to 1");
    const Split parts = split(data);
    demand(parts.train.rows() + parts.test.rows() == data.rows(), "each row is in one part");
    BatchOrder order(data.rows(), 1, /*seed=*/1);
    Batch batch;
    batch.take(data, order.next());
    demand(batch.rows() == 1, "a batch of one row");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        use(parse_libsvm(text_of(data, size), "FILE"));
    } catch (const Error& error) {
        demand_one_line(error);
        demand(std::string(error.what()).starts_with("FILE:"), error.what());
    }
    return 0;
}
