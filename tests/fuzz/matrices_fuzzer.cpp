// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives matrices of counts, which can be written, read again and routed, or a
// one-line error with file and line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/index.hpp"
#include "tests/fuzz/demand.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/traces/count_matrices.hpp"

namespace {

using namespace tutti;

std::string text_of(const CountMatrices& all) {
    std::string text;
    for (const auto& matrix : all.matrices) {
        for (int row = 0; row < all.rows; ++row)
            text +=
                fmt::format("{}\n", fmt::join(std::span(matrix).subspan(as_size(row * all.columns),
                                                                        as_size(all.columns)),
                                              " "));
        text += "\n";
    }
    return text;
}

// Tokens of a mixture-of-experts layer whose ranks send what the matrices say.
void route_tokens(const CountMatrices& all) {
    const MoeShape shape{
        .expert_ranks = all.rows, .routing = {.experts = all.columns}, .recorded = &all};
    try {
        require_fit(all, shape, all.rows);
    } catch (const Error& error) {
        demand_one_line(error);
        return;
    }
    std::int64_t recorded = 0, sent = 0;
    for (const auto& matrix : all.matrices)
        for (const std::int64_t count : matrix) recorded += count;
    for (const auto& step : tokens_of_layer(shape, /*block=*/0, /*layer=*/1, /*layers=*/1).of_steps)
        for (const std::int64_t count : step) sent += count;
    demand(sent == recorded, "all tokens are sent");
}

void use(const CountMatrices& all) {
    demand(!all.matrices.empty() && all.rows > 0 && all.columns > 0, "there are counts");
    for (const auto& matrix : all.matrices) {
        demand(int_size(matrix) == all.rows * all.columns, "matrices have one shape");
        demand(std::ranges::min(matrix) >= 0, "no count is negative");
        if (all.rows == all.columns)
            demand(transposed(transposed(matrix, all.rows), all.rows) == matrix,
                   "transposed twice it is the same");
    }
    const CountMatrices again = parse_count_matrices(text_of(all), "again");
    demand(again.rows == all.rows && again.columns == all.columns && again.matrices == all.matrices,
           "the text brings back the counts");
    constexpr int enough = 64;
    if (all.rows <= enough && all.columns <= enough) route_tokens(all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    CountMatrices all;
    try {
        all = parse_count_matrices(text_of(data, size), "FILE");
    } catch (const Error& error) {
        demand_place(error, "FILE");
        return 0;
    }
    use(all);
    return 0;
}
