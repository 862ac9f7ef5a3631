// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"
#include "autotune/tuner/measuring_evaluator.hpp"

namespace tutti {

/// When a hold-out has seen enough.
struct HoldOutOptions {
    int pairs = 20;        ///< at first
    int most_pairs = 160;  ///< then twice as many, while nobody is faster beyond doubt
    double seconds = 0.3;  ///< but not for longer than about so long
};

struct HoldOutPair {
    const Candidate& choice;
    const Candidate& library;
};

/// The times of both, nothing if one of the two cannot run here or gave a wrong result.
struct PairComparison {
    std::optional<HoldOut> seen = {};
    bool choice_is_wrong = false;
};

/// Races a choice against a library's own collective at one size, with plans of their own and every
/// result checked. The gain is the median of library over choice, pair by pair in the order of
/// measuring, so that a change of the machine's speed meets both; its interval assumes no
/// distribution. Collective.
PairComparison compare(Planner& planner, const BufferPool& pool,
                       const MeasuringEvaluator::Race& race, const HoldOutPair& pair, Bytes size,
                       const HoldOutOptions& options);

/// The median of times in ns, with its 95 % interval.
TimeInterval interval_of(std::span<const std::int64_t> samples_ns);
TimeInterval interval_of(std::span<const double> samples_ns);

/// What a section is about: where it has evidence, and where a range begins that has none.
std::vector<Bytes> sizes_of(const Section& section);

/// Their median and its 95 % interval; of fewer than 6 the least and the greatest.
void set_gain(HoldOut& found, std::span<const double> gains);

/// What is returned to be done meanwhile.
inline constexpr const char* against_library = "against the library";

/// Compares each choice of a section with the library.
struct LibraryComparison {
    Planner& planner;
    const BufferPool& pool;
    const MeasuringEvaluator::Race& race;
    const HoldOutOptions& options;
    std::span<const Bytes> sizes;  // that the section is about
    Bytes first, last;             // of those that are compared
    const std::string& session;
    const Candidate* library;  // null: none takes part
    std::function<bool()> is_over;
    std::function<void(const Configuration&)> wrong;
    std::function<void(double share)> progress;

    /// The samples that it took. Choices that cannot run here stay as they are. Collective.
    std::int64_t improve(Section& section, const std::vector<Candidate>& all) const;

private:
    bool is_wanted(Bytes size) const { return size >= first && size <= last; }
};

}  // namespace tutti
