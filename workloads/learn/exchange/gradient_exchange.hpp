// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/learn/exchange/exchange.hpp"
#include "workloads/learn/exchange/gradient_memory.hpp"
#include "workloads/steps/method.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// Gradients added up by collectives, as DistributedDataParallel does (Li et al., VLDB 2020): the
/// all-reduce of a bucket begins with the last of its gradients, in bucket order on every rank, and
/// goes on while backward computes the next ones: each of these moves it along.
class GradientExchange final : public Exchange {
public:
    /// Collective. Nothing if the way cannot do these calls; `reason` then says why, on all ranks
    /// alike. `way` and `memory` outlive it.
    static std::unique_ptr<GradientExchange> make(GradientMemory& memory, GroupMethod& way,
                                                  std::string& reason);

    void ready(Network& network, int tensor) override;
    /// Throws Error (time_out) naming the bucket that does not end.
    void finish(Network& network) override;
    /// An all-reduce in which each rank adds its number to the zeros of the others: exact, whatever
    /// the order of addition.
    std::vector<double> numbers(double mine) override;

    /// The same without any network, for buckets as they lie there.
    void exchange_buckets();

    /// Since the last clear_passages(), in the order of their beginning: the same on all ranks.
    const std::vector<StepStamps::Span>& call_spans() const { return call_spans_; }
    /// Of that time, what computing stood still for: beginning calls, finish() and numbers().
    std::int64_t still_ns() const { return still_ns_; }
    void clear_passages() {
        call_spans_.clear();
        still_ns_ = 0;
    }

    /// Whether every rank gets the same sums, bit for bit; nothing: nobody knows.
    std::optional<bool> promises_same_bits() const { return same_bits_; }

    /// What compressing did; null where every sum is that of the gradients as they are.
    CompressionTally* tally() const { return tally_; }

    /// Does every call once with data whose result is known, and counts the elements of this rank
    /// that are wrong. Not for compressed ones: their results are only near, and what they have
    /// left out would come with the next gradients. Collective.
    std::int64_t count_wrong(std::uint64_t seed);

private:
    GradientExchange(GradientMemory& memory, GroupMethod& way);
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
    std::int64_t still_ns_ = 0;
    std::optional<bool> same_bits_ = true;
    CompressionTally* tally_;
};

}  // namespace tutti
