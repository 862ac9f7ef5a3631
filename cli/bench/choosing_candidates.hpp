// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/auto/chooser.hpp"
#include "cli/options/bench_options.hpp"
#include "cli/reporter.hpp"

namespace tutti {

/// Candidates that choose for themselves (--algo auto, learn), and the table that is written at the
/// end.
class ChoosingCandidates {
public:
    /// Notes say from which table they choose. Collective. Throws Error for a table that cannot be
    /// used.
    ChoosingCandidates(World& world, const BenchOptions& options, std::vector<std::string>& notes);

    void add_to(std::vector<Candidate>& candidates) const;

    /// Writes what was learnt into the table's file. Collective. Throws Error if it cannot be
    /// written.
    void end(Reporter& reporter) const;

private:
    World& world_;
    std::string file_;
    std::vector<CommunicatorCandidate> all_;
    bool learns_ = false;
};

}  // namespace tutti
