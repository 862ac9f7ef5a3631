// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/compression_error.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"

namespace tutti {

CompressionError compression_error(Operation& operation, World& world, const Call& call,
                                   const PooledBuffers& buffers, const CompressionTally& tally,
                                   std::uint64_t seed) {
    const auto count = as_size(call.count);
    auto* input = reinterpret_cast<float*>(buffers.writable_input.data());
    const auto* output = reinterpret_cast<const float*>(buffers.call.output.data());
    const double divisor = call.op == Op::avg ? world.size() : 1;
    std::vector<double> exact(count), sum(count);
    for (std::size_t i = 0; i < count; ++i) {
        for (int rank = 0; rank < world.size(); ++rank)
            exact[i] +=
                static_cast<double>(gradient_like(seed, Rank{rank}, static_cast<std::int64_t>(i)));
        exact[i] /= divisor;
    }
    const auto distance = [&](double times) {
        double difference = 0, whole = 0;
        for (std::size_t i = 0; i < count; ++i) {
            difference += (sum[i] - times * exact[i]) * (sum[i] - times * exact[i]);
            whole += times * exact[i] * times * exact[i];
        }
        return whole > 0 ? std::sqrt(difference / whole) : 0;
    };
    CompressionError error;
    for (int done = 0; done < CompressionError::calls; ++done) {
        for (std::size_t i = 0; i < count; ++i)
            input[i] = gradient_like(seed, world.rank(), static_cast<std::int64_t>(i));
        world.barrier();
        operation.run();
        for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(output[i]);
        world.barrier();  // no rank overwrites what another still reads
        if (done == 0) error.of_first_call = distance(1);
        if (done == 0) error.union_share = tally.union_share;
    }
    error.of_all_calls = distance(CompressionError::calls);
    return error;
}

std::vector<Metric> metrics_of(World& world, const CompressionTally& tally,
                               const CompressionError& error, std::int64_t steps) {
    struct Both {
        CompressionTally tally;
        CompressionError error;
    };
    Both all;
    for (const Both& one : gather_all(world, Both{tally, error})) {
        all.tally.ns = std::max(all.tally.ns, one.tally.ns);
        all.tally.plain_bytes += one.tally.plain_bytes;
        all.tally.sent_bytes += one.tally.sent_bytes;
        all.error.of_first_call = std::max(all.error.of_first_call, one.error.of_first_call);
        all.error.of_all_calls = std::max(all.error.of_all_calls, one.error.of_all_calls);
        all.error.union_share = std::max(all.error.union_share, one.error.union_share);
    }
    const double saved =
        all.tally.plain_bytes > 0 ? 1 - all.tally.sent_bytes / all.tally.plain_bytes : 0;
    const double ms = static_cast<double>(all.tally.ns) * 1e-6 /
                      static_cast<double>(std::max<std::int64_t>(steps, 1));
    std::vector<Metric> metrics{{"bytes_saved", saved}, {"compress_ms", ms}};
    if (all.error.of_first_call >= 0) metrics.push_back({"error", all.error.of_first_call});
    if (all.error.union_share >= 0) {
        metrics.push_back({"error_10_steps", all.error.of_all_calls});
        metrics.push_back({"union_share", all.error.union_share});
    }
    return metrics;
}

}  // namespace tutti
