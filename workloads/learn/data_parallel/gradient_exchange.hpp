// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/learn/data_parallel/exchange.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/steps/method.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// The buckets in which gradients are summed (DistributedDataParallel's rule, in ready order), in
/// registered memory where possible. All methods share it, one after the other.
class GradientMemory {
public:
    /// Collective. Throws Error where memory does not suffice, or for caps that are not positive.
    GradientMemory(World& world, Network& network, BucketCaps caps,
                   std::optional<BufferKind> buffers);

    World& world() const { return world_; }
    const std::vector<Bucket>& buckets() const { return buckets_; }
    std::span<const int> ready_order() const { return order_; }
    int bucket_of(int tensor) const { return at(places_, tensor).bucket; }

    Call call_of(int bucket) const;
    PooledBuffers buffers_of(int bucket) const;
    /// The same for Exchange::numbers.
    Call call_of_numbers() const;
    PooledBuffers buffers_of_numbers() const;

    /// Returns the place of a tensor's gradient in its bucket.
    std::span<float> place_of(int tensor) const;

private:
    struct Place {
        int bucket = 0;
        std::size_t begin = 0;
        std::size_t count = 0;
    };
    PooledBuffers set(int pool, const Call& call) const;

    World& world_;
    std::vector<int> order_;
    std::vector<Bucket> buckets_;
    std::vector<Place> places_;       // by tensor
    std::vector<BufferPool> memory_;  // by bucket, that of the numbers last
};

/// Gradients summed by collectives as in DistributedDataParallel (Li et al., VLDB 2020): a bucket's
/// all-reduce begins with the last of its gradients, in bucket order on every rank, and progresses
/// whenever backward completes another gradient.
class GradientExchange final : public Exchange {
public:
    /// Collective. Refused if the method cannot do these calls. `method` and `memory` outlive it.
    static MadeOrRefused<GradientExchange> make(GradientMemory& memory, GroupMethod& method);

    void ready(Network& network, int tensor) override;
    /// Throws Error (time_out) naming the bucket that does not end.
    void finish(Network& network) override;
    /// An all-reduce in which all but one rank contribute zeros: exact in any order of addition.
    std::vector<double> numbers(double mine) override;

    /// Sums the buckets as they are, without a network.
    void exchange_buckets();

    /// Returns the calls since the last clear_call_spans() in the order of their start, the same on
    /// all ranks.
    const std::vector<StepStamps::Span>& call_spans() const { return call_spans_; }
    /// Returns the time since then in which computing was blocked: by starting calls, finish() and
    /// numbers().
    std::int64_t blocked_ns() const { return blocked_ns_; }
    void clear_call_spans() {
        call_spans_.clear();
        blocked_ns_ = 0;
    }

    /// Whether every rank gets the same sums, bit for bit; nothing where that is not known.
    std::optional<bool> same_bits() const { return same_bits_; }

    /// Returns the statistics of compression; null if nothing is compressed.
    CompressionTally* tally() const { return tally_; }

    /// Does every call once with known data and counts this rank's wrong elements. Not for methods
    /// that compress: results are approximate, and their residual would go into the next sums.
    /// Collective.
    std::int64_t count_wrong(std::uint64_t seed);

private:
    GradientExchange(GradientMemory& memory, GroupMethod& method);
    void begin_complete_ones();
    bool make_progress();
    void wait_for_all();

    struct UnderWay {
        int bucket;
        std::size_t span;
    };

    GradientMemory& memory_;
    std::vector<std::unique_ptr<Operation>> operations_;  // by bucket
    std::unique_ptr<Operation> of_numbers_;
    std::vector<std::size_t> missing_;  // gradients of each bucket
    std::size_t next_ = 0;              // bucket to begin
    std::vector<UnderWay> under_way_;
    std::vector<StepStamps::Span> call_spans_;
    std::int64_t blocked_ns_ = 0;
    std::optional<bool> same_bits_ = true;
    CompressionTally* tally_;
};

}  // namespace tutti
