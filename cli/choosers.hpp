// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/auto/chooser.hpp"
#include "cli/options/bench_options.hpp"

namespace tutti {

/// A bench's candidates that choose for themselves, and the table that is written at the end.
class Choosers {
public:
    /// Collective. Throws Error for a table that cannot be used.
    Choosers(World& world, const BenchOptions& options, std::vector<std::string>& notes);

    void add_to(std::vector<Candidate>& candidates) const;

    /// What was learnt goes into the table's file. Collective.
    void end() const;

private:
    World& world_;
    std::string file_;
    std::vector<CommunicatorCandidate> all_;
    bool learns_ = false;
};

}  // namespace tutti
