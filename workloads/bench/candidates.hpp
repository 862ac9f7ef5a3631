// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/planner/planner.hpp"
#include "workloads/bench/buffer_pool.hpp"

namespace tutti {

/// An operation that something else than its name decides how to do: a table, or what was learnt.
class ChosenOperation : public Operation {
public:
    /// What does it at present, in words. Collective.
    virtual std::string choice() = 0;
};

/// Makes such an operation for a call. Collective.
using Chooser =
    std::function<std::unique_ptr<ChosenOperation>(const Call& call, const PooledBuffers& buffers)>;

/// The same for buffers on devices, which only plans of the planner that made them reach.
class DeviceChooser {
public:
    virtual ~DeviceChooser() = default;
    /// Why it has no way for this call; nothing if it has. Collective.
    virtual std::optional<std::string> refuses(Planner& planner, const Call& call,
                                               const PooledBuffers& buffers) const = 0;
    /// Collective; the call is not refused.
    virtual std::unique_ptr<ChosenOperation> operation(Planner& planner, const Call& call,
                                                       const PooledBuffers& buffers) const = 0;
};

/// What competes at a point: one of our algorithms over one transport, or a library's collective by
/// its own choice of algorithm or by a forced one.
struct Candidate {
    std::string impl;            ///< "tutti", or the baseline's name
    std::string algorithm = {};  ///< of ours, or forced on the library; empty: the library chooses
    std::string transport = {};  ///< of ours; empty for a baseline
    std::string order = {};      ///< of the ranks, by name; empty: the launcher's
    Bytes segment = {};          ///< if the algorithm pipelines; 0: the usual one of the hosts
    int radix = 0;               ///< if the algorithm takes one; 0: the usual one
    int channels = 1;            ///< of ours
    const Algorithm* row = nullptr;
    const Baseline* baseline = nullptr;
    Chooser chooser = {};                                  ///< of one that is neither
    std::shared_ptr<const DeviceChooser> on_devices = {};  ///< beside it; none: it takes none

    bool is_ours() const { return row != nullptr; }
    /// "ring/shm", "mpi" or "mpi/ring"; with what is not usual in brackets, and the order:
    /// "chain[64K]/shm", "tree[k4]/mpi", "ring[x2]@topology/mpi",
    /// "two-level-butterfly[16K,k4,x2]/mpi".
    std::string name() const;
};

/// Names as the command line gives them. "all" stands for every one; of a library, "mpi/ring" for
/// one of its algorithms and "mpi/all" for its own choice and every one that can be forced.
struct SearchSpace {
    std::vector<std::string> algorithms{"all"};
    std::vector<std::string> transports{"all"};
    std::vector<std::string> baselines{"mpi"};
    /// Of the ranks, for our algorithms: naive, topology or files. Each is a candidate of its own.
    std::vector<std::string> orders{"naive"};
    /// Each combination of these that an algorithm makes use of is a candidate of its own.
    std::vector<Bytes> segments{Bytes{}};  ///< 0: the usual one
    std::vector<int> radices{0};           ///< 0: the usual one
    std::vector<int> channels{1};
};

/// Tells libraries whose algorithms are to be forced so before they start.
void before_start(const SearchSpace& search_space);

/// The candidates in the order of the catalog, baselines last. Throws Error for an unknown name or
/// an algorithm that does not do this collective; a library's algorithms have names only while it
/// runs. Says nothing of whether they run here: see refusal.
std::vector<Candidate> candidates(Collective collective, const SearchSpace& search_space);

/// What to ask a planner for, but for placement and order.
Choice choice_of(const Candidate& candidate, Bytes default_segment);

/// What a call is done on, as far as it decides schedules.
struct Environment {
    int ranks = 1;
    Placement hosts = {};                      ///< and nodes of hierarchical algorithms
    Bytes default_segment = segment_on_host;   ///< of candidates that name none
    std::map<std::string, Order> orders = {};  ///< by the names that candidates call them by
};

/// The candidates without those whose plans for this call would be the same as an earlier one's, as
/// a tree with a radix of at least the rank count is the linear algorithm, and two-level on one
/// node a tree. Those that cannot build one or that move too much to tell are left in.
std::vector<Candidate> distinct(std::vector<Candidate> candidates, const Call& call,
                                const Environment& environment);

/// Why these ranks cannot run the candidate for this call on such buffers, of which only where they
/// lie and whether they are in place counts; nothing if they can. Collective.
std::optional<std::string> refusal(Planner& planner, const Candidate& candidate, const Call& call,
                                   const PooledBuffers& buffers, const Placement& placement);

}  // namespace tutti
