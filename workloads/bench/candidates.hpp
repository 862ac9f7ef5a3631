// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/planner/operation_maker.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// An operation, whose configuration may be chosen for each call: by a table, by what was learnt,
/// or by a library.
struct ChosenOperation {
    std::unique_ptr<Operation> operation;
    std::function<std::string()> choice =
        {};  ///< the configuration at present, in words; collective
};

/// Makes such an operation for a call. Collective.
using Chooser = std::function<ChosenOperation(const Call& call, const PooledBuffers& buffers)>;

/// The same for buffers on devices, which only plans of the planner that made them reach.
class DeviceChooser {
public:
    virtual ~DeviceChooser() = default;
    /// Why it cannot run this call; nothing if it can. Collective.
    virtual std::optional<std::string> refuses(Planner& planner, const Call& call,
                                               const PooledBuffers& buffers) const = 0;
    /// Collective; the call is not refused.
    virtual ChosenOperation operation(Planner& planner, const Call& call,
                                      const PooledBuffers& buffers) const = 0;
};

/// One competitor at a point: one of tutti's algorithms over one transport, a library's collective
/// with its own or a forced choice of algorithm, or a chooser among these.
struct Candidate {
    /// For a chooser only its name, in the field of the algorithm
    Configuration configuration;
    const Algorithm* row = nullptr;      ///< of tutti's algorithm
    const Baseline* baseline = nullptr;  ///< of a library
    Chooser chooser = {};                ///< neither algorithm nor library
    /// The chooser for device buffers; null: it takes none
    std::shared_ptr<const DeviceChooser> on_devices = {};

    bool is_ours() const { return row != nullptr; }
    /// Returns to_string(configuration), or the chooser's name.
    std::string name() const;
};

/// Names from the command line. "all" selects every one; of algorithms, "all+" also those that
/// "all" leaves out. For a library, "mpi/ring" selects one of its algorithms, and "mpi/all" its own
/// choice and every algorithm that can be forced.
struct SearchSpace {
    std::vector<std::string> algorithms{"all"};
    std::vector<std::string> transports{"all"};
    std::vector<std::string> baselines{"mpi"};
    /// Orders of the ranks for tutti's algorithms: naive, topology or files. Each is a separate
    /// candidate.
    std::vector<std::string> orders{"naive"};
    /// Values of knobs by name; the others have their defaults. Each combination that an algorithm
    /// uses is a separate candidate.
    std::map<std::string, std::vector<std::int64_t>, std::less<>> knobs = {};

    /// Names the knobs of a library's algorithm also if they have the library's own values, for
    /// tables that are read where the library does not run.
    bool names_own_values = false;
    /// Whether a library's algorithm may be a candidate; empty: all may.
    std::function<bool(Collective, const Configuration&)> allows = {};

    std::vector<std::int64_t> values_of(const Knob& knob) const;
};

/// Sets what libraries whose algorithms are to be forced read before they start.
void before_start(const SearchSpace& search_space);

/// The candidates in the order of the catalog, baselines last. Throws Error for an unknown name or
/// an algorithm that does not do this collective; a library's algorithms have names only while it
/// runs. Says nothing of whether they run here: see refusal.
std::vector<Candidate> candidates(Collective collective, const SearchSpace& search_space);

/// One of the candidates by itself. Throws Error for an unknown algorithm or library.
Candidate candidate_of(Collective collective, const Configuration& configuration);

/// The candidates without those whose plans for this call would be the same as an earlier one's, as
/// a tree with a radix of at least the rank count is the linear algorithm, and two-level on one
/// node a tree. Those that cannot build one or that move too much to decide are left in.
std::vector<Candidate> distinct(std::vector<Candidate> candidates, const Call& call,
                                const Environment& environment);

/// Returns why these ranks cannot run the candidate for this call on such buffers; none if they
/// can. Only the kind of memory and the placement of the buffers matter. Collective.
std::optional<std::string> refusal(Planner& planner, const Candidate& candidate, const Call& call,
                                   const PooledBuffers& buffers, const Placement& placement);

/// The candidate's operation for a call on these buffers, with a choice if it has a chooser or if
/// its library tells one.
/// Collective; the candidate is not refused.
ChosenOperation operation_of(Planner& planner, const Candidate& candidate, const Call& call,
                             const PooledBuffers& buffers, const Environment& environment);

/// A trial whose results are checked with rank-distinct data, or with `check` off are not.
Trial trial_of(Operation& operation, const World& world, const Call& call,
               const PooledBuffers& buffers, bool check);

}  // namespace tutti
