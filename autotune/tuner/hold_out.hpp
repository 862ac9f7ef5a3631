// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "autotune/choice/subject.hpp"
#include "autotune/search/evaluator.hpp"
#include "autotune/table/table.hpp"
#include "workloads/bench/candidates.hpp"

namespace tutti {

/// One participant of a race: the candidate that is run and recorded, and its arm in the search.
struct Variant {
    Candidate candidate;
    Arm arm;
};

/// Returns the candidates as arms. Candidates of the same algorithm over the same transport are a
/// family; each knob's levels are its values among the candidates of all families, ascending.
std::vector<Variant> variants_of(const std::vector<Candidate>& candidates);

/// Returns whether each channel still carries enough: below a few KiB all messages cost the same,
/// so more channels do not help.
bool carries_enough(const Configuration& configuration, Bytes vector);

/// An evaluator on real ranks: all arms of a race alternate call by call. Collective; samples and
/// decisions are the same on all ranks.
class MeasuringEvaluator final : public Evaluator {
public:
    /// Settings shared by all races.
    struct Race {
        Subject subject;
        DataType type = DataType::float32;
        Op op = Op::sum;
        Environment environment;
        Protocol protocol;
    };
    using Prediction = std::function<std::optional<double>(const Configuration&, const Call&)>;

    /// Calls `is_over` on rank 0 only. All arguments outlive the evaluator.
    MeasuringEvaluator(Planner& planner, const BufferPool& pool, const Race& race,
                       const std::vector<Variant>& variants, Prediction prediction,
                       std::function<bool()> is_over);

    std::span<const Arm> arms() const override { return arms_; }
    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override;
    bool takes_part(int arm, Bytes size) const override;
    std::optional<double> predicted_ns(int arm, Bytes size) const override;
    bool is_over() const override;

    /// Returns the variants whose results were wrong; they do not race again.
    const std::set<int>& wrong() const { return wrong_; }

private:
    struct Runner {
        std::unique_ptr<Operation> operation;
        Trial trial;
    };
    bool can_run(int arm, const Call& call);
    const std::set<int>& distinct_at(Bytes size) const;
    const std::vector<double>& predictions_at(Bytes size) const;
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
    Bytes size_{-1};  // size of the runners' calls
    Call call_;
    PooledBuffers buffers_;
    std::map<int, Runner> runners_;
    std::set<int> checked_, wrong_;
    mutable std::map<Bytes, std::set<int>> distinct_;           // arms without equivalents, by size
    mutable std::map<Bytes, std::vector<double>> predictions_;  // by arm, in ns; NaN: none
    std::uint64_t number_ = 0;
};

/// Returns the call of a race with at least this size.
Call call_of(const MeasuringEvaluator::Race& race, int ranks, Bytes size);

/// How long a hold-out compares.
struct HoldOutOptions {
    int pairs = 20;        ///< at first
    int most_pairs = 160;  ///< then doubled while neither is significantly faster
    double seconds = 0.3;  ///< but not for longer than about this
};

struct HoldOutPair {
    const Candidate& choice;
    const Candidate& library;
};

/// The comparison; none if one of the two cannot run here or gave a wrong result.
struct PairComparison {
    std::optional<HoldOut> seen = {};
    bool choice_is_wrong = false;
};

/// Races a choice against a library's own collective at one size, with separate plans and every
/// result checked. The gain is the median of library over choice, pair by pair in the order of
/// measuring, so that a change of the machine's speed affects both. Its interval assumes no
/// distribution. Collective.
PairComparison compare(Planner& planner, const BufferPool& pool,
                       const MeasuringEvaluator::Race& race, const HoldOutPair& pair, Bytes size,
                       const HoldOutOptions& options);

/// Return the median of times in ns with its 95 % interval.
TimeInterval interval_of(std::span<const std::int64_t> samples_ns);
TimeInterval interval_of(std::span<const double> samples_ns);

/// Returns the sizes of a section: those with evidence, and the start of each range without any.
std::vector<Bytes> sizes_of(const Section& section);

/// Sets the median of the gains and its 95 % interval; below 6 gains the least and the greatest.
void set_gain(HoldOut& found, std::span<const double> gains);

/// Progress text during a comparison with the library.
inline constexpr const char* against_library = "against the library";

/// Compares each choice of a section with the library.
struct LibraryComparison {
    Planner& planner;
    const BufferPool& pool;
    const MeasuringEvaluator::Race& race;
    const HoldOutOptions& options;
    std::span<const Bytes> sizes;  // sizes of the section
    Bytes first, last;             // limits of the sizes to compare
    const std::string& session;
    const Candidate* library;  // null: there is none
    std::function<bool()> is_over;
    std::function<void(const Configuration&)> wrong;
    std::function<void(double share)> progress;

    /// Returns the number of samples it took. Choices that cannot run here stay unchanged.
    /// Collective.
    std::int64_t improve(Section& section, const std::vector<Candidate>& all) const;

private:
    bool is_wanted(Bytes size) const { return size >= first && size <= last; }
};

}  // namespace tutti
