// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "workloads/learn/learning/learning_settings.hpp"
#include "workloads/learn/servers/reducing_trainer.hpp"
#include "workloads/learn/servers/server_settings.hpp"
#include "workloads/scenarios/rows.hpp"
#include "workloads/scenarios/training_steps.hpp"

namespace tutti {
namespace {

class ParameterServerScenario final : public Scenario {
public:
    ParameterServerScenario(const Settings& asked, const WorkloadEnvironment& environment)
        : world_(environment.planner.world()),
          choice_(server_choice(asked)),
          network_(network_of(asked).name),
          optimizer_(optimizer_of(asked)),
          ways_(server_ways(choice_, world_.size())),
          data_(split(digits())),
          learner_(network_, data_.train, choice_.batch,
                   {.rank = world_.rank(), .ranks = world_.size()}, seed),
          steps_(static_cast<std::int64_t>(epochs_of(asked, network_of(asked).epochs)) *
                 learner_.batches_per_epoch()),
          rate_{.of_one_rank = learning_rate_of(asked, optimizer_.learning_rate),
                .steps = static_cast<int>(steps_)},
          site_(environment.planner, learner_.first_weights().size(), environment.buffers) {
        open_messages(asked.text("messages"));
    }

    std::string model() const override { return network_; }
    bool has_compute_mode() const override { return false; }
    std::int64_t bytes_of_step() const override { return bytes_of_weights(); }
    std::int64_t calls_of_step() const override { return 1; }

    std::vector<std::string> notes() const override {
        const std::int64_t bytes = bytes_of_weights();
        std::vector<std::string> lines{
            fmt::format(
                "{}: {} weights, b N = {} bytes; {} workers, batches of {} in all; {} steps "
                "to train",
                network_, learner_.first_weights().size(), bytes, world_.size(), choice_.batch,
                steps_),
            fmt::format("a worker pushes b N and pulls b N a step; messages over {}",
                        transport_->name())};
        for (const auto& servers : choice_.servers) {
            const int count = servers.value_or(world_.size());
            lines.push_back(fmt::format("{} server{}: each carries 2 P b N / S = {} bytes a step",
                                        count, count > 1 ? "s" : "",
                                        2 * world_.size() * bytes / count));
        }
        lines.push_back(fmt::format("ring all-reduce: 2 (P - 1) / P b N = {} bytes a step and rank",
                                    2 * (world_.size() - 1) * bytes / world_.size()));
        return lines;
    }

    std::vector<Method> ways(std::vector<Method> named) const override {
        std::vector<Method> all;
        for (const ServerMode& way : ways_) all.push_back({.name = way.name, .of_group = {}});
        for (Method& way : named) {
            way.name = "all-reduce " + way.name;
            all.push_back(way);
            if (!choice_.slow) continue;
            way.name += slowed;
            all.push_back(way);
        }
        return all;
    }

    std::unique_ptr<Steps> steps(const Method& way, std::string& reason) override {
        const bool is_sgd = std::string_view(optimizer_.name) == "sgd";  // adam blows rounding up
        for (const ServerMode& known : ways_) {
            if (known.name != way.name) continue;
            const Architecture& of = known.architecture;
            if (of.rules.dropped > 0 && of.servers > 1) {
                reason = "who is late is for one server to say; type --servers 1";
                return nullptr;
            }
            return steps_of(std::make_unique<ServerTrainer>(
                                world_, ServerTrainer::Mails{.pushes = *pushes_, .pulls = *pulls_},
                                learner_, of, optimizer_, rate_),
                            is_sgd && of.rules.is_synchronous && of.rules.dropped == 0);
        }
        auto reduction = WholeReduction::make(site_, way, reason);
        if (!reduction) return nullptr;
        ReducingTrainer::Slow slow;
        if (way.name.ends_with(slowed)) slow = {.rank = choice_.slow, .times = choice_.slow_times};
        const bool is_exact = reduction->is_exact();
        CompressionTally* const tally = reduction->tally();
        return steps_of(std::make_unique<ReducingTrainer>(world_, std::move(reduction), learner_,
                                                          optimizer_, rate_, slow),
                        is_sgd && is_exact, tally);
    }

private:
    static constexpr unsigned seed = 1;
    static constexpr const char* slowed = ", slowed";

    std::int64_t bytes_of_weights() const {
        return static_cast<std::int64_t>(learner_.first_weights().size() * sizeof(float));
    }

    void open_messages(std::string name) {
        if (name == "auto") name = world_.kind() == "threads" ? "loopback" : "mpi";
        const TransportRow& row = find_transport(name);
        const auto missing = missing_on_any(world_, row.missing());
        if (const auto refusal = missing ? missing : row.refuses(world_))
            throw Error(fmt::format("--messages {}: {}", name, *refusal));
        transport_ = row.open(world_, std::nullopt);
        auto* messages = dynamic_cast<MessageTransport*>(transport_.get());
        const std::size_t most = learner_.first_weights().size() * sizeof(float) + 64;
        pushes_ = std::make_unique<Mail>(world_, *messages, 0, most);
        pulls_ = std::make_unique<Mail>(world_, *messages, 2 * world_.size(), most);
    }

    std::unique_ptr<Steps> steps_of(std::unique_ptr<RowTrainer> trainer, bool equals_one_rank,
                                    CompressionTally* tally = nullptr) {
        TrainingPurpose purpose{
            .row = choice_.row, .steps = steps_, .test = data_.test, .tally = tally};
        if (equals_one_rank)
            purpose.weights_of_one_rank = [this](std::int64_t steps) {
                return trained_alone(steps);
            };
        return training_steps(world_, std::move(trainer), learner_, std::move(purpose));
    }

    std::vector<float> trained_alone(std::int64_t steps) const {
        DigitsLearner alone(network_, data_.train, choice_.batch, {}, seed);
        const auto weights = alone.network().weights();
        const auto optimizer = optimizer_.make(weights.size());
        for (std::int64_t step = 0; step < steps; ++step) {
            alone.find_gradients(1, [] {});
            optimizer->step(weights, alone.network().gradients(), rate_.at(static_cast<int>(step)));
        }
        return {weights.begin(), weights.end()};
    }

    World& world_;
    ServerChoice choice_;
    std::string network_;
    const OptimizerKind& optimizer_;
    std::vector<ServerMode> ways_;
    Split data_;
    DigitsLearner learner_;
    std::int64_t steps_;
    LearningRate rate_;
    WholeReduction::Site site_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<Mail> pushes_, pulls_;
};

void check_settings(const Settings& asked) {
    server_choice(asked);
    epochs_of(asked, network_of(asked).epochs);
    learning_rate_of(asked, optimizer_of(asked).learning_rate);
    asked.word<int>("messages", {{"auto", 0}, {"loopback", 0}, {"mpi", 0}, {"ucx", 0}});
}

}  // namespace

Workload parameter_server_workload() {
    return {
        .name = "parameter-server",
        .what =
            "workers push gradients to servers and pull weights, synchronously or as they come, "
            "beside an all-reduce",
        .settings = server_settings(),
        .check = check_settings,
        .make = [](const Settings& asked,
                   const WorkloadEnvironment& environment) -> std::unique_ptr<Scenario> {
            return std::make_unique<ParameterServerScenario>(asked, environment);
        }};
}

}  // namespace tutti
