// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "workloads/learn/data_parallel/exchange.hpp"
#include "workloads/learn/data_parallel/gradient_exchange.hpp"
#include "workloads/learn/data_parallel/trainer.hpp"
#include "workloads/learn/data_parallel/training_settings.hpp"
#include "workloads/scenarios/workload.hpp"
#include "workloads/steps/compression_error.hpp"

namespace tutti {
namespace {

// State shared by all methods: the setup, the memory, and a trainer that returns to the same state
// before each timed step.
class Training {
public:
    Training(TrainingSetup setup, BucketCaps caps, const WorkloadEnvironment& environment)
        : setup_(std::move(setup)),
          planner_(environment.planner),
          trainer_(trainer_of(setup_, world().rank(), world().size())),
          memory_(world(), trainer_->network(), caps, environment.buffers),
          environment_(environment_of(world())) {
        AllGatherExchange all_gather(world());
        // lbfgs has its whole history after this many steps.
        constexpr int full_history = 12;
        const int before = setup_.is_by_lbfgs() ? std::min(full_history, setup_.steps() - 1) : 0;
        for (int step = 0; step < before; ++step) trainer_->step(step, all_gather);
        trainer_->save_state();
        RecordingExchange recording(all_gather, exchange_calls_);
        trainer_->step(0, recording);
        trainer_->restore_state();
    }

    World& world() const { return planner_.world(); }
    Planner& planner() const { return planner_; }
    const TrainingSetup& setup() const { return setup_; }
    const Environment& environment() const { return environment_; }
    GradientMemory& memory() { return memory_; }
    const GradientMemory& memory() const { return memory_; }
    Trainer& trainer() { return *trainer_; }
    const std::vector<ExchangeCall>& exchange_calls() const { return exchange_calls_; }

    std::int64_t count_of(ExchangeCall::Kind kind) const {
        return std::ranges::count(exchange_calls_, kind, &ExchangeCall::kind);
    }

    // Returns the same training on one rank, computed when first needed. Collective.
    const TrainingResult& reference() {
        if (!reference_) reference_ = train_on_one_rank(world(), setup_);
        return *reference_;
    }

private:
    TrainingSetup setup_;
    Planner& planner_;
    std::unique_ptr<Trainer> trainer_;
    GradientMemory memory_;
    Environment environment_;
    std::vector<ExchangeCall> exchange_calls_;
    std::optional<TrainingResult> reference_;
};

class TrainSteps final : public Steps {
public:
    TrainSteps(Training& training, std::unique_ptr<GroupMethod> method,
               std::unique_ptr<GradientExchange> exchange, std::uint64_t seed)
        : training_(training),
          method_(std::move(method)),
          exchange_(std::move(exchange)),
          repeated_(training.exchange_calls()),
          seed_(seed) {}

    StepStamps run(StepPart part, std::int64_t number) override {
        training_.trainer().restore_state();
        repeated_.rewind();
        exchange_->clear_call_spans();
        const auto step = static_cast<int>(number % training_.setup().steps());
        StepStamps stamps{.begin_ns = now_ns()};
        if (part == StepPart::whole)
            training_.trainer().step(step, *exchange_);
        else if (part == StepPart::compute)
            training_.trainer().step(step, repeated_);
        else
            communicate();
        stamps.end_ns = now_ns();
        if (part != StepPart::communication)
            stamps.compute_ns = stamps.end_ns - stamps.begin_ns - exchange_->blocked_ns();
        stamps.calls = exchange_->call_spans();
        return stamps;
    }

    // Counts wrong results for known data, and weights that differ although the schedule promises
    // equal ones.
    std::optional<std::int64_t> count_wrong() override {
        CompressionTally* const tally = exchange_->tally();
        std::int64_t wrong = tally == nullptr ? exchange_->count_wrong(seed_) : 0;
        exchange_->clear_call_spans();
        result_ = train(training_.world(), training_.setup(), *exchange_);
        calls_ = exchange_->call_spans().size();
        if (tally != nullptr) {
            compressing_ = metrics_of(training_.world(), *tally, {}, training_.setup().steps());
            return std::nullopt;
        }
        if (exchange_->same_bits().value_or(false)) wrong += result_.differing_weights;
        return wrong;
    }

    std::vector<Metric> metrics() override {
        World& world = training_.world();
        std::vector<Metric> metrics{
            {"accuracy", result_.accuracy},
            {"loss", result_.losses.back()},
            {"loss_difference", difference_of_losses(training_.reference(), result_)},
            {"loss_difference_in_epoch_1",
             difference_of_losses(training_.reference(), result_,
                                  training_.setup().steps_of_epoch())},
            {"seconds", result_.seconds},
            {"one_rank_accuracy", training_.reference().accuracy},
            {"one_rank_seconds", training_.reference().seconds},
            {"same_weights", true_on_all_ranks(world, result_.differing_weights == 0) ? 1.0 : 0.0}};
        if (const auto same = exchange_->same_bits())
            metrics.push_back({"same_promised", *same ? 1.0 : 0.0});
        metrics.push_back(
            {"calls_of_mean_step", static_cast<double>(calls_) / training_.setup().steps()});
        metrics.insert(metrics.end(), compressing_.begin(), compressing_.end());
        return metrics;
    }

private:
    void communicate() {
        for (const ExchangeCall& call : training_.exchange_calls())
            if (call.kind == ExchangeCall::Kind::gradients)
                exchange_->exchange_buckets();
            else
                exchange_->numbers(0);
    }

    Training& training_;
    std::unique_ptr<GroupMethod> method_;
    std::unique_ptr<GradientExchange> exchange_;
    ReplayedExchange repeated_;
    std::uint64_t seed_;
    TrainingResult result_;
    std::vector<Metric> compressing_;
    std::size_t calls_ = 0;
};

class TrainScenario final : public Scenario {
public:
    TrainScenario(TrainingSetup setup, BucketCaps caps, const WorkloadEnvironment& environment)
        : training_(std::move(setup), caps, environment), seed_(environment.seed) {}

    std::string model() const override { return training_.setup().network; }
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
            describe(training_.setup(), training_.world().size()),
            fmt::format(
                "gradients are sent in {} of {} bytes",
                buckets().size() == 1 ? "a bucket" : fmt::format("{} buckets", buckets().size()),
                sizes)};
        if (const auto numbers = training_.count_of(ExchangeCall::Kind::numbers); numbers > 0)
            notes.push_back(fmt::format(
                "a timed step of lbfgs sums all gradients {} times, and {} times {} bytes (losses "
                "and "
                "dot products)",
                training_.count_of(ExchangeCall::Kind::gradients), numbers, bytes_of_numbers()));
        return notes;
    }

    std::int64_t bytes_of_step() const override {
        std::int64_t bytes = training_.count_of(ExchangeCall::Kind::numbers) * bytes_of_numbers();
        for (const Bucket& bucket : buckets())
            bytes += training_.count_of(ExchangeCall::Kind::gradients) * bytes_of(bucket);
        return bytes;
    }

    std::int64_t calls_of_step() const override {
        return training_.count_of(ExchangeCall::Kind::numbers) +
               training_.count_of(ExchangeCall::Kind::gradients) *
                   static_cast<std::int64_t>(buckets().size());
    }

    MadeOrRefused<Steps> steps(const Method& method) override {
        auto of_group = method.of_group(training_.planner(), training_.environment());
        auto [exchange, refusal] = GradientExchange::make(training_.memory(), *of_group);
        if (!exchange) return {nullptr, std::move(refusal)};
        return {std::make_unique<TrainSteps>(training_, std::move(of_group), std::move(exchange),
                                             seed_)};
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
    {"bucket-cap", "Bytes after which a bucket is closed (the first bucket: 1M)", "25M"},
};

constexpr auto setting_rows = [] {
    std::array<SettingRow, std::size(training_options) + std::size(of_buckets)> all{};
    std::ranges::copy(of_buckets, std::ranges::copy(training_options, all.begin()).out);
    return all;
}();

// The first cap is never larger than the others.
BucketCaps caps_of(const Settings& settings) {
    BucketCaps caps;
    caps.others = settings.bytes("bucket-cap");
    caps.first = std::min(caps.first, caps.others);
    return caps;
}

void check_settings(const Settings& settings) {
    training_setup_of(settings, 1, 1);
    const std::int64_t one[] = {1};
    const int first[] = {0};
    buckets_of(one, first, Bytes{sizeof(float)}, caps_of(settings));  // throws for a cap of 0
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    return std::make_unique<TrainScenario>(
        training_setup_of(settings, environment.planner.world().size(), environment.seed),
        caps_of(settings), environment);
}

}  // namespace

Workload train_workload() {
    return {.name = "train",
            .what =
                "data parallel with a real network: its gradients are summed in buckets during the "
                "backward pass",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
