// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/program_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "results/statistics/statistics.hpp"
#include "workloads/program/ideal_run.hpp"

namespace tutti {
namespace {

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

double median_or_0(const std::vector<double>& values) {
    return values.empty() ? 0 : median(values);
}

std::int64_t slowest(const Program& program, std::int64_t number) {
    std::int64_t most = 0;
    for (int rank = 0; rank < program.ranks(); ++rank)
        most = std::max(most, compute_ns_of_step(program, Rank{rank}, number));
    return most;
}

}  // namespace

void SkewEffect::add(std::int64_t number, const StepTimes& even, const StepTimes& uneven) {
    even_ms_.push_back(ms(even.step));
    ratio_.push_back(ms(uneven.step) / std::max(ms(even.step), 1e-6));
    wait_ms_.push_back(ms(uneven.wait - even.wait));
    growth_ms_.push_back(ms(uneven.step - even.step));
    skew_ms_.push_back(ms(slowest(uneven_, number) - slowest(even_, number)));
}

std::vector<Metric> SkewEffect::metrics() const {
    const double skew = median_or_0(skew_ms_);
    std::vector<Metric> all{{"unskewed_step_ms", median_or_0(even_ms_)},
                            {"step_over_unskewed", median_or_0(ratio_)},
                            {"wait_added_ms", median_or_0(wait_ms_)},
                            {"skew_ms", skew}};
    if (skew > 0) all.push_back({"sensitivity", median_or_0(growth_ms_) / skew});
    return all;
}

namespace {

class ProgramSteps : public Steps {
public:
    ProgramSteps(std::unique_ptr<StepRunner> runner, Computer& computer, std::uint64_t seed,
                 const std::vector<Metric>& metrics, std::function<void(std::int64_t)> before)
        : runner_(std::move(runner)),
          computer_(computer),
          seed_(seed),
          metrics_(metrics),
          before_(std::move(before)) {}

    StepStamps run(StepPart part, std::int64_t number) override {
        if (before_ && part != StepPart::compute) before_(number);
        return runner_->run(part, number, computer_);
    }
    std::optional<std::int64_t> count_wrong() override { return runner_->count_wrong(seed_); }
    std::vector<Metric> metrics() override {
        std::vector<Metric> all = metrics_;
        for (Metric& metric : runner_->metrics()) all.push_back(std::move(metric));
        return all;
    }

protected:
    std::unique_ptr<StepRunner> runner_;
    Computer& computer_;

private:
    std::uint64_t seed_;
    const std::vector<Metric>& metrics_;
    std::function<void(std::int64_t)> before_;
};

// Runs each step with skew after the same step without, which is reported only for comparison.
class SkewedSteps final : public ProgramSteps {
public:
    SkewedSteps(ProgramSteps&& steps, World& world, const GlobalClock* clock, const Program& even,
                const Program& uneven)
        : ProgramSteps(std::move(steps)),
          world_(world),
          clock_(world.one_host() ? nullptr : clock),
          uneven_(uneven.tasks_of(world.rank())),
          seen_(even, uneven) {}

    StepStamps run(StepPart part, std::int64_t number) override {
        if (part != StepPart::whole) return runner_->run(part, number, computer_, uneven_);
        const StepTimes even = times_of(world_, clock_, runner_->run(part, number, computer_));
        world_.barrier();
        const StepStamps mine = runner_->run(part, number, computer_, uneven_);
        seen_.add(number, even, times_of(world_, clock_, mine));
        return mine;
    }
    std::vector<Metric> metrics() override {
        std::vector<Metric> all = ProgramSteps::metrics();
        for (Metric& metric : seen_.metrics()) all.push_back(std::move(metric));
        return all;
    }

private:
    World& world_;
    const GlobalClock* clock_;
    std::span<const Task> uneven_;
    SkewEffect seen_;
};

// Extends the hang timeout by the longest step, because a rank that computes does not hang. The
// watchdog's thread reads it, too.
class LaterDeadline {
public:
    LaterDeadline(World& world, Program program)
        : world_(world), default_timeout_(world.hang_timeout) {
        for (auto& tasks : program.tasks)
            for (Task& task : tasks)
                if (task.kind == Task::Kind::compute)
                    task.compute_ns = {std::ranges::max(task.compute_ns)};
        set(default_timeout_ + static_cast<double>(ideal_run(program).step_ns()) * 1e-9);
    }
    LaterDeadline(const LaterDeadline&) = delete;
    LaterDeadline& operator=(const LaterDeadline&) = delete;
    ~LaterDeadline() { set(default_timeout_); }

private:
    void set(double seconds) { std::atomic_ref(world_.hang_timeout).store(seconds); }

    World& world_;
    double default_timeout_;
};

class ProgramScenario final : public Scenario {
public:
    ProgramScenario(Program program, std::vector<std::string> notes, std::vector<Metric> metrics,
                    const WorkloadEnvironment& environment, BeforeStep before)
        : program_((check(program), std::move(program))),
          notes_(std::move(notes)),
          metrics_(std::move(metrics)),
          computer_(computer(environment.compute, environment.planner.world().oversubscribed
                                                      ? CoreUse::shared
                                                      : CoreUse::own)),
          uneven_(environment.skew.is_none() ? std::nullopt
                                             : std::optional(skewed(program_, environment.skew))),
          deadline_(environment.planner.world(), uneven_ ? *uneven_ : program_),
          buffers_(environment.planner, program_, environment.buffers, environment.transports),
          seed_(environment.seed),
          before_(std::move(before)),
          clock_(environment.clock) {
        note_hideable();
    }

    std::string model() const override { return program_.name; }
    std::vector<std::string> notes() const override { return notes_; }

    std::int64_t bytes_of_step() const override {
        return tutti::bytes_of_step(program_, busiest());
    }

    std::int64_t calls_of_step() const override {
        std::ptrdiff_t most = 0;
        for (const auto& tasks : program_.tasks)
            most = std::max(most, std::ranges::count(tasks, Task::Kind::start, &Task::kind));
        return most;
    }

    MadeOrRefused<Steps> steps(const Method& method) override {
        auto [runner, refusal] = StepRunner::make(buffers_, method);
        if (!runner) return {nullptr, std::move(refusal)};
        std::function<void(std::int64_t)> before;
        if (before_)
            before = [this](std::int64_t number) {
                before_(buffers_, number);
                buffers_.world().barrier();  // so that steps still begin together
            };
        ProgramSteps steps(std::move(runner), *computer_, seed_, metrics_, std::move(before));
        if (!uneven_) return {std::make_unique<ProgramSteps>(std::move(steps))};
        return {std::make_unique<SkewedSteps>(std::move(steps), buffers_.world(), clock_, program_,
                                              *uneven_)};
    }

private:
    // Returns the rank that passes most bytes to collectives.
    Rank busiest() const {
        Rank busiest{0};
        for (int rank = 1; rank < program_.ranks(); ++rank)
            if (tutti::bytes_of_step(program_, Rank{rank}) >
                tutti::bytes_of_step(program_, busiest))
                busiest = Rank{rank};
        return busiest;
    }

    // Bounds the overlap that can be reached.
    void note_hideable() {
        const auto all = static_cast<double>(bytes_of_step());
        if (all == 0) return;
        const double share = static_cast<double>(hideable_bytes_of_step(program_, busiest())) / all;
        metrics_.push_back({"hideable_share", share});
        if (share < 0.995)
            notes_.push_back(fmt::format(
                "{:.0f} % of the bytes can be hidden; the rest is waited for without computing",
                share * 100));
    }

    Program program_;
    std::vector<std::string> notes_;
    std::vector<Metric> metrics_;
    std::unique_ptr<Computer> computer_;
    std::optional<Program> uneven_;  // with skew
    LaterDeadline deadline_;         // groups copy their timeout from it
    ProgramBuffers buffers_;
    std::uint64_t seed_;
    BeforeStep before_;
    const GlobalClock* clock_;
};

constexpr std::string_view padded_suffix = "+padded";

class ScenarioWithPadded final : public Scenario {
public:
    ScenarioWithPadded(std::unique_ptr<Scenario> exact, std::unique_ptr<Scenario> padded)
        : exact_(std::move(exact)), padded_(std::move(padded)) {}

    std::string model() const override { return exact_->model(); }
    std::vector<std::string> notes() const override {
        auto notes = exact_->notes();
        notes.push_back(fmt::format("{}: the same data in equal blocks, {} bytes in total",
                                    padded_suffix, padded_->bytes_of_step()));
        return notes;
    }
    std::int64_t bytes_of_step() const override { return exact_->bytes_of_step(); }
    std::int64_t calls_of_step() const override { return exact_->calls_of_step(); }
    std::vector<Method> methods(std::vector<Method> named) const override {
        std::vector<Method> both;
        for (Method& method : named) {
            both.push_back(method);
            method.name += padded_suffix;
            both.push_back(std::move(method));
        }
        return both;
    }
    MadeOrRefused<Steps> steps(const Method& method) override {
        return (method.name.ends_with(padded_suffix) ? *padded_ : *exact_).steps(method);
    }

private:
    std::unique_ptr<Scenario> exact_;
    std::unique_ptr<Scenario> padded_;  // made last and ended first, as it extends the timeout, too
};

}  // namespace

std::unique_ptr<Scenario> scenario_of(Program program, std::vector<std::string> notes,
                                      std::vector<Metric> metrics,
                                      const WorkloadEnvironment& environment, BeforeStep before) {
    return std::make_unique<ProgramScenario>(std::move(program), std::move(notes),
                                             std::move(metrics), environment, std::move(before));
}

Padding padding_of(const Settings& settings, std::string_view usual) {
    const auto padding_called = [](std::string_view name) {
        return name == "both" ? Padding::both : name == "yes" ? Padding::yes : Padding::no;
    };
    return settings.word<Padding>("padding", {{"yes", Padding::yes},
                                              {"no", Padding::no},
                                              {"both", Padding::both},
                                              {"auto", padding_called(usual)}});
}

std::unique_ptr<Scenario> with_padding(
    Padding padding, const std::function<std::unique_ptr<Scenario>(Blocks)>& make) {
    if (padding != Padding::both)
        return make(padding == Padding::yes ? Blocks::padded : Blocks::exact);
    auto exact = make(Blocks::exact);  // made first, see ScenarioWithPadded
    return std::make_unique<ScenarioWithPadded>(std::move(exact), make(Blocks::padded));
}

}  // namespace tutti
