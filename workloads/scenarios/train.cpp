// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "workloads/learn/exchange/gradient_exchange.hpp"
#include "workloads/learn/exchange/meeting_exchange.hpp"
#include "workloads/learn/exchange/recorded_exchange.hpp"
#include "workloads/learn/learning/learn.hpp"
#include "workloads/learn/learning/training_settings.hpp"
#include "workloads/scenarios/rows.hpp"
#include "workloads/steps/loss.hpp"

namespace tutti {
namespace {

// What all ways have in common: the course, the memory, and one trainer, that goes back to the same
// state before each timed step.
class Training {
public:
    Training(TrainingSetup course, BucketCaps caps, const WorkloadEnvironment& environment)
        : course_(std::move(course)),
          planner_(environment.planner),
          trainer_(trainer_of(course_, world().rank(), world().size())),
          memory_(world(), trainer_->network(), caps, environment.buffers),
          ground_{.ranks = world().size(),
                  .hosts = world().hosts(),
                  .default_segment = default_segment(world())} {
        MeetingExchange meeting(world());
        // lbfgs has its whole history after so many.
        constexpr int full_history = 12;
        const int before = course_.is_by_lbfgs() ? std::min(full_history, course_.steps() - 1) : 0;
        for (int step = 0; step < before; ++step) trainer_->step(step, meeting);
        trainer_->remember();
        RecordingExchange recording(meeting, asked_);
        trainer_->step(0, recording);
        trainer_->rewind();
    }

    World& world() const { return planner_.world(); }
    Planner& planner() const { return planner_; }
    const TrainingSetup& course() const { return course_; }
    const Environment& environment() const { return ground_; }
    GradientMemory& memory() { return memory_; }
    const GradientMemory& memory() const { return memory_; }
    Trainer& trainer() { return *trainer_; }
    const std::vector<Asked>& asked() const { return asked_; }

    std::int64_t times_asked(Asked::What what) const {
        return std::ranges::count(asked_, what, &Asked::what);
    }

    // The course on one rank; once, when first asked for. Collective.
    const Learnt& reference() {
        if (!reference_) reference_ = learn_on_one_rank(world(), course_);
        return *reference_;
    }

private:
    TrainingSetup course_;
    Planner& planner_;
    std::unique_ptr<Trainer> trainer_;
    GradientMemory memory_;
    Environment ground_;
    std::vector<Asked> asked_;
    std::optional<Learnt> reference_;
};

class TrainSteps final : public Steps {
public:
    TrainSteps(Training& training, std::unique_ptr<GroupMethod> way,
               std::unique_ptr<GradientExchange> exchange, std::uint64_t seed)
        : training_(training),
          way_(std::move(way)),
          exchange_(std::move(exchange)),
          repeated_(training.asked()),
          seed_(seed) {}

    StepStamps run(StepPart part, std::int64_t number) override {
        training_.trainer().rewind();
        repeated_.rewind();
        exchange_->clear_passages();
        const auto step = static_cast<int>(number % training_.course().steps());
        StepStamps stamps{.begin_ns = now_ns()};
        if (part == StepPart::whole)
            training_.trainer().step(step, *exchange_);
        else if (part == StepPart::compute)
            training_.trainer().step(step, repeated_);
        else
            communicate();
        stamps.end_ns = now_ns();
        if (part != StepPart::communication)
            stamps.compute_ns = stamps.end_ns - stamps.begin_ns - exchange_->still_ns();
        stamps.calls = exchange_->call_spans();
        return stamps;
    }

    // Wrong is what known data shows, and each weight that is not as the schedule specifies.
    std::optional<std::int64_t> count_wrong() override {
        CompressionTally* const tally = exchange_->tally();
        std::int64_t wrong = tally == nullptr ? exchange_->count_wrong(seed_) : 0;
        exchange_->clear_passages();
        learnt_ = learn(training_.world(), training_.course(), *exchange_);
        calls_ = exchange_->call_spans().size();
        if (tally != nullptr) {
            compressing_ = metrics_of(training_.world(), *tally, {}, training_.course().steps());
            return std::nullopt;
        }
        if (exchange_->promises_same_bits().value_or(false)) wrong += learnt_.differing_weights;
        return wrong;
    }

    std::vector<Metric> metrics() override {
        World& world = training_.world();
        std::vector<Metric> metrics{
            {"accuracy", learnt_.accuracy},
            {"loss", learnt_.losses.back()},
            {"loss_difference", difference_of_losses(training_.reference(), learnt_)},
            {"loss_difference_in_epoch_1",
             difference_of_losses(training_.reference(), learnt_,
                                  training_.course().steps_of_epoch())},
            {"seconds", learnt_.seconds},
            {"one_rank_accuracy", training_.reference().accuracy},
            {"one_rank_seconds", training_.reference().seconds},
            {"same_weights", true_on_all_ranks(world, learnt_.differing_weights == 0) ? 1.0 : 0.0}};
        if (const auto promised = exchange_->promises_same_bits())
            metrics.push_back({"same_promised", *promised ? 1.0 : 0.0});
        metrics.push_back(
            {"calls_of_mean_step", static_cast<double>(calls_) / training_.course().steps()});
        metrics.insert(metrics.end(), compressing_.begin(), compressing_.end());
        return metrics;
    }

private:
    void communicate() {
        for (const Asked& asked : training_.asked())
            if (asked.what == Asked::What::gradients)
                exchange_->exchange_buckets();
            else
                exchange_->numbers(0);
    }

    Training& training_;
    std::unique_ptr<GroupMethod> way_;
    std::unique_ptr<GradientExchange> exchange_;
    RepeatedExchange repeated_;
    std::uint64_t seed_;
    Learnt learnt_;
    std::vector<Metric> compressing_;
    std::size_t calls_ = 0;
};

class TrainScenario final : public Scenario {
public:
    TrainScenario(TrainingSetup course, BucketCaps caps, const WorkloadEnvironment& environment)
        : training_(std::move(course), caps, environment), seed_(environment.seed) {}

    std::string model() const override { return training_.course().network; }
    bool has_compute_mode() const override { return false; }

    std::vector<std::string> notes() const override {
        std::string sizes;
        std::size_t shown = 0;
        for (const Bucket& bucket : buckets()) {
            sizes += fmt::format("{}{}", shown > 0 ? ", " : "", bytes_of(bucket));
            if (++shown == 8) break;
        }
        if (buckets().size() > shown) sizes += ", ...";
        std::vector<std::string> notes{
            in_words(training_.course(), training_.world().size()),
            fmt::format(
                "gradients go in {} of {} bytes",
                buckets().size() == 1 ? "a bucket" : fmt::format("{} buckets", buckets().size()),
                sizes)};
        if (const auto numbers = training_.times_asked(Asked::What::numbers); numbers > 0)
            notes.push_back(fmt::format(
                "a step of lbfgs, as timed: {} times all gradients, {} times {} bytes (losses and "
                "dot products)",
                training_.times_asked(Asked::What::gradients), numbers, bytes_of_numbers()));
        return notes;
    }

    std::int64_t bytes_of_step() const override {
        std::int64_t bytes = training_.times_asked(Asked::What::numbers) * bytes_of_numbers();
        for (const Bucket& bucket : buckets())
            bytes += training_.times_asked(Asked::What::gradients) * bytes_of(bucket);
        return bytes;
    }

    std::int64_t calls_of_step() const override {
        return training_.times_asked(Asked::What::numbers) +
               training_.times_asked(Asked::What::gradients) *
                   static_cast<std::int64_t>(buckets().size());
    }

    std::unique_ptr<Steps> steps(const Method& way, std::string& reason) override {
        auto of_group = way.of_group(training_.planner(), training_.environment());
        auto exchange = GradientExchange::make(training_.memory(), *of_group, reason);
        if (!exchange) return nullptr;
        return std::make_unique<TrainSteps>(training_, std::move(of_group), std::move(exchange),
                                            seed_);
    }

private:
    const std::vector<Bucket>& buckets() const { return training_.memory().buckets(); }
    static std::int64_t bytes_of(const Bucket& bucket) {
        return bucket.count * static_cast<std::int64_t>(sizeof(float));
    }
    std::int64_t bytes_of_numbers() const {
        return training_.world().size() * static_cast<std::int64_t>(sizeof(double));
    }

    Training training_;
    std::uint64_t seed_;
};

constexpr SettingRow of_buckets[] = {
    {"bucket-cap", "a bucket is closed once it has so many bytes; the first one at 1M", "25M"},
};

constexpr auto settings = [] {
    std::array<SettingRow, std::size(course_settings) + std::size(of_buckets)> all{};
    std::ranges::copy(of_buckets, std::ranges::copy(course_settings, all.begin()).out);
    return all;
}();

// The first is never larger than the others.
BucketCaps caps_of(const Settings& asked) {
    BucketCaps caps;
    caps.others = asked.bytes("bucket-cap");
    caps.first = std::min(caps.first, caps.others);
    return caps;
}

void check_settings(const Settings& asked) {
    course_of(asked, 1, 1);
    const std::int64_t one[] = {1};
    const int first[] = {0};
    buckets_of(one, first, Bytes{sizeof(float)}, caps_of(asked));  // throws for a cap of nothing
}

std::unique_ptr<Scenario> make(const Settings& asked, const WorkloadEnvironment& environment) {
    return std::make_unique<TrainScenario>(
        course_of(asked, environment.planner.world().size(), environment.seed), caps_of(asked),
        environment);
}

}  // namespace

Workload train_workload() {
    return {.name = "train",
            .what =
                "data parallel for real: a network learns, its gradients added up in buckets while "
                "backward goes on",
            .settings = settings,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
