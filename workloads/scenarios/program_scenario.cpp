// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/program_scenario.hpp"

#include <algorithm>

namespace tutti {
namespace {

class ProgramSteps final : public Steps {
public:
    ProgramSteps(std::unique_ptr<StepRunner> runner, Computer& computer, std::uint64_t seed,
                 const std::vector<Metric>& metrics)
        : runner_(std::move(runner)), computer_(computer), seed_(seed), metrics_(metrics) {}

    StepStamps run(StepPart part, std::int64_t number) override {
        return runner_->run(part, number, computer_);
    }
    std::optional<std::int64_t> count_wrong() override { return runner_->count_wrong(seed_); }
    std::vector<Metric> metrics() override {
        std::vector<Metric> all = metrics_;
        for (Metric& metric : runner_->metrics()) all.push_back(std::move(metric));
        return all;
    }

private:
    std::unique_ptr<StepRunner> runner_;
    Computer& computer_;
    std::uint64_t seed_;
    const std::vector<Metric>& metrics_;
};

class ProgramScenario final : public Scenario {
public:
    ProgramScenario(Program program, std::vector<std::string> notes, std::vector<Metric> metrics,
                    const WorkloadGround& ground)
        : program_((check(program), std::move(program))),
          notes_(std::move(notes)),
          metrics_(std::move(metrics)),
          computer_(computer(ground.compute)),
          stage_(ground.planner, program_, ground.buffers),
          seed_(ground.seed) {}

    std::string model() const override { return program_.name; }
    std::vector<std::string> notes() const override { return notes_; }

    std::int64_t bytes_of_step() const override {
        std::int64_t most = 0;
        for (int rank = 0; rank < program_.ranks(); ++rank)
            most = std::max(most, tutti::bytes_of_step(program_, Rank{rank}));
        return most;
    }

    std::int64_t calls_of_step() const override {
        std::ptrdiff_t most = 0;
        for (const auto& tasks : program_.tasks)
            most = std::max(most, std::ranges::count(tasks, Task::Kind::start, &Task::kind));
        return most;
    }

    std::unique_ptr<Steps> steps(const Way& way, std::string& reason) override {
        auto runner = StepRunner::make(stage_, way, reason);
        if (!runner) return nullptr;
        return std::make_unique<ProgramSteps>(std::move(runner), *computer_, seed_, metrics_);
    }

private:
    Program program_;
    std::vector<std::string> notes_;
    std::vector<Metric> metrics_;
    std::unique_ptr<Computer> computer_;
    ProgramStage stage_;
    std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Scenario> scenario_of(Program program, std::vector<std::string> notes,
                                      std::vector<Metric> metrics, const WorkloadGround& ground) {
    return std::make_unique<ProgramScenario>(std::move(program), std::move(notes),
                                             std::move(metrics), ground);
}

}  // namespace tutti
