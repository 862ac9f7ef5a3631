// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/search/search.hpp"
#include "autotune/table/table.hpp"
#include "autotune/tuner/hold_out.hpp"
#include "autotune/tuner/race_log.hpp"

namespace tutti {

/// Subjects and sizes to tune, the candidates, and the limits.
struct TuneRequest {
    std::vector<Collective> collectives;
    std::vector<DataType> types{DataType::float32};  ///< each represents its class
    std::vector<Op> ops{Op::sum};
    std::vector<BufferKind> buffers;  ///< empty: both, if ranks can share memory
    std::vector<Bytes> sizes;         ///< ascending
    SearchSpace search_space;
    Environment environment;
    Protocol protocol;
    SearchOptions search;
    /// Repetitions of every variant at every size, instead of a search
    int repetitions_of_all = 0;
    int repetitions_of_evaluation = 0;  ///< the same after each search, to evaluate it
    HoldOutOptions hold_out;
    bool holds_out = true;  ///< compares with the library's own collective at the end
    double budget_seconds = 150;
};

/// Callbacks for the tuner's progress, on every rank.
struct TuneEvents {
    /// Called before a subject, and then with the finished share and the winner at the size just
    /// decided, or the current activity.
    std::function<void(const Subject&, double done, const std::string& now)> progress;
    /// Receives new samples, to be stored.
    std::function<void(const RaceLog::Entry&)> raced;
    /// Receives a section that is complete, or as far as it is known, which replaces the previous
    /// one.
    std::function<void(const Section&)> section;
    /// Receives a section as it would be if its search ended now; about every second.
    std::function<void(const Section&)> under_way;
    std::function<void(const Subject&, const TuneCost&)> cost;
    /// Reports a variant with a wrong result, which is not used again.
    std::function<void(const Subject&, const Configuration&)> wrong;
    /// Returns whether an earlier search has finished this subject. Called on rank 0.
    std::function<bool(const Subject&)> is_done;
};

/// Predicts ns, or nothing; the same on all ranks.
using CallPredictor =
    std::function<std::optional<double>(const Configuration&, const Call&, BufferKind)>;

/// Returns both kinds if the ranks can share memory, or those requested.
std::vector<BufferKind> kinds_for(const TuneRequest& request, const World& world);

/// Returns the subjects of a request for these kinds of buffers, each once.
std::vector<Subject> subjects_of(const TuneRequest& request, const std::vector<BufferKind>& kinds);

/// Searches subject by subject; each gets an equal share of the remaining time. `earlier` are
/// samples of an interrupted search of the same request. Collective.
void tune(Planner& planner, const TuneRequest& request, const JobShape& job_shape,
          const std::string& session, const CallPredictor& predictor,
          const std::vector<RaceLog::Entry>& earlier, const TuneEvents& events);

/// Races every choice of a table's sections for these ranks against the library's own collective,
/// and restores the default unless a choice is significantly faster. Collective.
void hold_out(Planner& planner, const TuneRequest& request, const JobShape& job_shape,
              const std::string& session, const Table& table, const TuneEvents& events);

}  // namespace tutti
