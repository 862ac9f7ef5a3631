// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autotune/choice/subject.hpp"
#include "autotune/search/evaluator.hpp"
#include "workloads/bench/candidates.hpp"

namespace tutti {

/// One participant of a race: the candidate that is run and recorded, and its arm in the search.
struct Variant {
    Candidate candidate;
    Arm arm;
};

/// Candidates of the same algorithm over the same transport are a family; each knob's levels are
/// its values among the candidates of all families, ascending.
std::vector<Variant> variants_of(const std::vector<Candidate>& candidates);

/// Channels are worth trying only where each still carries something: below a few KiB a message
/// costs the same however short it is.
bool carries_enough(const Configuration& configuration, Bytes vector);

/// Real ranks as an evaluator: a race is measured with all its arms alternating call by call.
/// Collective; samples and decisions are the same on all ranks.
class MeasuringEvaluator final : public Evaluator {
public:
    /// What all races have in common.
    struct Race {
        Subject subject;
        DataType type = DataType::float32;
        Op op = Op::sum;
        Environment environment;
        Protocol protocol;
    };
    using Prediction = std::function<std::optional<double>(const Configuration&, const Call&)>;

    /// `is_over` is asked on rank 0 alone. All that is given outlives the evaluator.
    MeasuringEvaluator(Planner& planner, const BufferPool& pool, const Race& race,
                       const std::vector<Variant>& variants, Prediction prediction,
                       std::function<bool()> is_over);

    std::span<const Arm> arms() const override { return arms_; }
    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override;
    bool takes_part(int arm, Bytes size) const override;
    std::optional<double> predicted_ns(int arm, Bytes size) const override;
    bool is_over() const override;

    /// Variants whose results were wrong: they race no more.
    const std::set<int>& wrong() const { return wrong_; }

private:
    struct Runner {
        std::unique_ptr<Operation> operation;
        Trial trial;
    };
    bool can_run(int arm, const Call& call);
    const std::set<int>& distinct_at(Bytes size) const;
    void go_to(Bytes size);
    void check_all_agree(Bytes size, std::span<const int> arms, int repetitions) const;
    Runner& runner_of(int arm);

    Planner& planner_;
    World& world_;
    const BufferPool& pool_;
    const Race& race_;
    const std::vector<Variant>& variants_;
    Prediction prediction_;
    std::function<bool()> is_over_;
    std::vector<Arm> arms_;
    Bytes size_{-1};  // that the runners are of
    Call call_;
    PooledBuffers buffers_;
    std::map<int, Runner> runners_;
    std::set<int> checked_, wrong_;
    mutable std::map<Bytes, std::set<int>> distinct_;  // arms that no other stands for, by size
    std::uint64_t number_ = 0;
};

/// The call of a race at a size: its elements make up at least so many bytes.
Call call_of(const MeasuringEvaluator::Race& race, int ranks, Bytes size);

}  // namespace tutti
