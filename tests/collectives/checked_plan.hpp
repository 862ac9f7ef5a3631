// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/planner/planner.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti::test {

/// A plan with its own buffers, and new data for every run to check the result. For tests that
/// start and wait themselves; wrong_elements() in threads.hpp does all of it in one call.
class CheckedPlan {
public:
    CheckedPlan(Planner& planner, std::string_view transport, const Algorithm& algorithm,
                std::int64_t count)
        : check_{.collective = algorithm.collective,
                 .ranks = planner.world().size(),
                 .count = count},
          me_(planner.world().rank()) {
        const Call call{algorithm.collective, check_.type, check_.op, Rank{check_.root}, count};
        input_.resize(input_bytes(call, check_.ranks, me_));
        output_.resize(output_bytes(call, check_.ranks, me_));
        const Choice choice{&algorithm, {.transport = std::string(transport), .segment = {1024}}};
        plan_ = planner.plan(choice, call, {input_, output_, false});
    }

    void start() {
        ++check_.seed;
        poison(output_);
        fill_input(check_, me_, input_);
        plan_->start();
    }

    bool test() { return plan_->test(); }
    void wait() { plan_->wait(); }
    Plan& plan() { return *plan_; }

    /// Returns the number of wrong elements in the last run's result.
    std::int64_t wrong() const { return count_wrong(check_, me_, output_); }

private:
    CheckCase check_;
    Rank me_;
    std::vector<std::byte> input_, output_;
    std::unique_ptr<Plan> plan_;
};

}  // namespace tutti::test
