// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "workloads/learn/data_parallel/training_settings.hpp"
#include "workloads/learn/servers/all_reduce_trainer.hpp"
#include "workloads/learn/servers/server_trainer.hpp"
#include "workloads/scenarios/training_steps.hpp"

namespace tutti {
namespace {

class ParameterServerScenario final : public Scenario {
public:
    ParameterServerScenario(const Settings& settings, const WorkloadEnvironment& environment)
        : world_(environment.planner.world()),
          options_(server_options(settings)),
          network_(network_of(settings).name),
          optimizer_(optimizer_of(settings)),
          modes_(server_modes(options_, world_.size())),
          data_(split(digits())),
          learner_(network_, data_.train, options_.batch,
                   {.rank = world_.rank(), .ranks = world_.size()}, seed),
          steps_(static_cast<std::int64_t>(epochs_of(settings, network_of(settings).epochs)) *
                 learner_.batches_per_epoch()),
          rate_{.of_one_rank = learning_rate_of(settings, optimizer_.learning_rate),
                .steps = static_cast<int>(steps_)},
          site_(environment.planner, learner_.first_weights().size(), environment.buffers) {
        open_messages(settings.text("messages"));
    }

    std::string model() const override { return network_; }
    bool has_compute_mode() const override { return false; }
    std::int64_t bytes_of_step() const override { return bytes_of_weights(); }
    std::int64_t calls_of_step() const override { return 1; }

    std::vector<std::string> notes() const override {
        const std::int64_t bytes = bytes_of_weights();
        std::vector<std::string> lines{
            fmt::format(
                "{}: {} weights, b N = {} bytes; {} workers share batches of {} rows; {} steps "
                "of training",
                network_, learner_.first_weights().size(), bytes, world_.size(), options_.batch,
                steps_),
            fmt::format("each worker pushes b N and pulls b N bytes per step; messages over {}",
                        transport_->name())};
        for (const auto& servers : options_.servers) {
            const int count = servers.value_or(world_.size());
            lines.push_back(
                fmt::format("{} server{}: each transfers 2 P b N / S = {} bytes per step", count,
                            count > 1 ? "s" : "", 2 * world_.size() * bytes / count));
        }
        lines.push_back(
            fmt::format("ring all-reduce: 2 (P - 1) / P b N = {} bytes per step and rank",
                        2 * (world_.size() - 1) * bytes / world_.size()));
        return lines;
    }

    std::vector<Method> methods(std::vector<Method> named) const override {
        std::vector<Method> all;
        for (const ServerMode& mode : modes_) all.push_back({.name = mode.name, .of_group = {}});
        for (Method& method : named) {
            method.name = "all-reduce " + method.name;
            all.push_back(method);
            if (!options_.skew.slow) continue;
            method.name += slowed;
            all.push_back(method);
        }
        return all;
    }

    MadeOrRefused<Steps> steps(const Method& method) override {
        const bool is_sgd = std::string_view(optimizer_.name) == "sgd";  // adam amplifies rounding
        const auto mode = std::ranges::find(modes_, method.name, &ServerMode::name);
        if (mode != modes_.end()) {
            const Architecture& of = mode->architecture;
            if (of.rules.dropped > 0 && of.servers > 1)
                return {nullptr,
                        "only a single server sees which gradient is late; use --servers 1"};
            return {
                steps_of(std::make_unique<ServerTrainer>(
                             world_, ServerTrainer::Mailboxes{.pushes = *pushes_, .pulls = *pulls_},
                             learner_, of, optimizer_, rate_),
                         is_sgd && of.rules.is_synchronous() && of.rules.dropped == 0)};
        }
        auto [sum, refusal] = VectorSum::make(site_, method);
        if (!sum) return {nullptr, std::move(refusal)};
        const Skew skew = method.name.ends_with(slowed) ? options_.skew : Skew{};
        const bool is_exact = sum->is_exact();
        CompressionTally* const tally = sum->tally();
        return {steps_of(std::make_unique<AllReduceTrainer>(world_, std::move(sum), learner_,
                                                            optimizer_, rate_, skew),
                         is_sgd && is_exact, tally)};
    }

private:
    static constexpr unsigned seed = 1;
    static constexpr const char* slowed = ", slowed";

    std::int64_t bytes_of_weights() const {
        return static_cast<std::int64_t>(learner_.first_weights().size() * sizeof(float));
    }

    void open_messages(std::string name) {
        if (name == "auto")
            name = world_.kind() == "threads" ? "loopback" : world_.kind() == "mpi" ? "mpi" : "ucx";
        const TransportRow& batch = find_transport(name);
        const auto missing = missing_on_any(world_, batch.missing());
        if (const auto refusal = missing ? missing : batch.refuses(world_))
            throw Error(fmt::format("--messages {}: {}", name, *refusal));
        transport_ = batch.open(world_, std::nullopt).messages;
        const std::size_t most = learner_.first_weights().size() * sizeof(float) + 64;
        pushes_ = std::make_unique<Mailbox>(world_, *transport_, 0, most);
        pulls_ = std::make_unique<Mailbox>(world_, *transport_, 2 * world_.size(), most);
    }

    std::unique_ptr<Steps> steps_of(std::unique_ptr<FreeRunningTrainer> trainer,
                                    bool equals_one_rank, CompressionTally* tally = nullptr) {
        TrainingPlan plan{.steps_per_sample = options_.steps_per_sample,
                          .steps = steps_,
                          .test = data_.test,
                          .tally = tally};
        if (equals_one_rank)
            plan.weights_of_one_rank = [this](std::int64_t steps) {
                return trained_on_one_rank(steps);
            };
        return training_steps(world_, std::move(trainer), learner_, std::move(plan));
    }

    std::vector<float> trained_on_one_rank(std::int64_t steps) const {
        DigitsLearner learner(network_, data_.train, options_.batch, {}, seed);
        const auto weights = learner.network().weights();
        const auto optimizer = optimizer_.make(weights.size());
        for (std::int64_t step = 0; step < steps; ++step) {
            learner.compute_gradients(1, [] {});
            optimizer->step(weights, learner.network().gradients(),
                            rate_.at(static_cast<int>(step)));
        }
        return {weights.begin(), weights.end()};
    }

    World& world_;
    ServerOptions options_;
    std::string network_;
    const OptimizerKind& optimizer_;
    std::vector<ServerMode> modes_;
    Split data_;
    DigitsLearner learner_;
    std::int64_t steps_;
    LearningRate rate_;
    VectorSum::Site site_;
    std::unique_ptr<MessageTransport> transport_;
    std::unique_ptr<Mailbox> pushes_, pulls_;
};

void check_settings(const Settings& settings) {
    server_options(settings);
    epochs_of(settings, network_of(settings).epochs);
    learning_rate_of(settings, optimizer_of(settings).learning_rate);
    settings.word<int>("messages", {{"auto", 0}, {"loopback", 0}, {"mpi", 0}, {"ucx", 0}});
}

}  // namespace

Workload parameter_server_workload() {
    return {.name = "parameter-server",
            .what =
                "workers push gradients to servers and pull weights, synchronously or not, "
                "compared with an all-reduce",
            .settings = server_settings(),
            .check = check_settings,
            .make = [](const Settings& settings,
                       const WorkloadEnvironment& environment) -> std::unique_ptr<Scenario> {
                return std::make_unique<ParameterServerScenario>(settings, environment);
            }};
}

}  // namespace tutti
