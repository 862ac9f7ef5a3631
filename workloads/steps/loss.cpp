// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/loss.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/steps/gradient_like.hpp"

namespace tutti {

Loss loss_of(Operation& operation, World& world, const Call& call, const PooledBuffers& buffers,
             const CompressionTally& tally, std::uint64_t seed) {
    const auto count = static_cast<std::size_t>(call.count);
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
    Loss loss;
    for (int done = 0; done < Loss::calls; ++done) {
        for (std::size_t i = 0; i < count; ++i)
            input[i] = gradient_like(seed, world.rank(), static_cast<std::int64_t>(i));
        world.barrier();
        operation.run();
        for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(output[i]);
        world.barrier();  // nobody spoils what another still reads
        if (done == 0) loss.of_one = distance(1);
        if (done == 0) loss.union_share = tally.union_share;
    }
    loss.of_sum = distance(Loss::calls);
    return loss;
}

std::vector<Metric> metrics_of(World& world, const CompressionTally& tally, const Loss& loss,
                               std::int64_t steps) {
    struct Told {
        CompressionTally tally;
        Loss loss;
    };
    Told all;
    for (const Told& one : gather_all(world, Told{tally, loss})) {
        all.tally.ns = std::max(all.tally.ns, one.tally.ns);
        all.tally.plain_bytes += one.tally.plain_bytes;
        all.tally.sent_bytes += one.tally.sent_bytes;
        all.loss.of_one = std::max(all.loss.of_one, one.loss.of_one);
        all.loss.of_sum = std::max(all.loss.of_sum, one.loss.of_sum);
        all.loss.union_share = std::max(all.loss.union_share, one.loss.union_share);
    }
    const double saved =
        all.tally.plain_bytes > 0 ? 1 - all.tally.sent_bytes / all.tally.plain_bytes : 0;
    const double ms = static_cast<double>(all.tally.ns) * 1e-6 /
                      static_cast<double>(std::max<std::int64_t>(steps, 1));
    std::vector<Metric> metrics{{"bytes_saved", saved}, {"compress_ms", ms}};
    if (all.loss.of_one >= 0) metrics.push_back({"error", all.loss.of_one});
    if (all.loss.union_share >= 0) {
        metrics.push_back({"error_10_steps", all.loss.of_sum});
        metrics.push_back({"union_share", all.loss.union_share});
    }
    return metrics;
}

}  // namespace tutti
