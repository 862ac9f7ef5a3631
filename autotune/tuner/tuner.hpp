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

/// What to tune, among what, and for how long.
struct TuneRequest {
    std::vector<Collective> collectives;
    std::vector<DataType> types{DataType::float32};  ///< each stands for its class
    std::vector<Op> ops{Op::sum};
    std::vector<BufferKind> buffers;  ///< empty: both, as far as ranks can share memory
    std::vector<Bytes> sizes;         ///< ascending
    SearchSpace search_space;
    Environment environment;
    Protocol protocol;
    SearchOptions search;
    int repetitions_of_all = 0;         ///< of every variant at every size, instead of a search
    int repetitions_of_evaluation = 0;  ///< the same after each search, to evaluate it
    HoldOutOptions hold_out;
    bool holds_out = true;  ///< compares with the library's own collective at the end
    double budget_seconds = 150;
};

/// What the tuner reports while it works, on every rank.
struct TuneEvents {
    /// Before a subject; and what part of it is done, with the winner at the size just decided, or
    /// what else is being done.
    std::function<void(const Subject&, double done, const std::string& now)> progress;
    /// New samples, to be kept.
    std::function<void(const RaceLog::Entry&)> raced;
    /// A section that is complete, or as far as it is known: to be kept in place of the one before.
    std::function<void(const Section&)> section;
    /// A section whose search is under way, as it would be if that ended now; every second or so.
    std::function<void(const Section&)> under_way;
    std::function<void(const Subject&, const TuneCost&)> cost;
    /// A variant gave a wrong result: it takes no further part.
    std::function<void(const Subject&, const Configuration&)> wrong;
    /// An earlier search has ended with this subject. Asked on rank 0.
    std::function<bool(const Subject&)> is_done;
};

/// Predicts ns, or nothing; the same on all ranks.
using CallPredictor =
    std::function<std::optional<double>(const Configuration&, const Call&, BufferKind)>;

/// Both, as far as the ranks can share memory, or those asked for.
std::vector<BufferKind> kinds_for(const TuneRequest& request, const World& world);

/// The subjects of a request for these kinds of buffers, each once.
std::vector<Subject> subjects_of(const TuneRequest& request, const std::vector<BufferKind>& kinds);

/// Searches subject by subject; each gets an equal share of the time that is left. `earlier` are
/// samples of an interrupted search of the same request. Collective.
void tune(Planner& planner, const TuneRequest& request, const JobShape& job_shape,
          const std::string& session, const CallPredictor& predictor,
          const std::vector<RaceLog::Entry>& earlier, const TuneEvents& events);

/// Races every choice of a table's sections for these ranks against the library's own collective,
/// and lets the default stay where a choice is not beyond doubt faster. Collective.
void hold_out(Planner& planner, const TuneRequest& request, const JobShape& job_shape,
              const std::string& session, const Table& table, const TuneEvents& events);

}  // namespace tutti
