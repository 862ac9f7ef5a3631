// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "workloads/learn/data_parallel/training_settings.hpp"
#include "workloads/learn/servers/federated_trainer.hpp"
#include "workloads/scenarios/training_steps.hpp"

namespace tutti {
namespace {

constexpr SettingRow setting_rows[] = {
    network_setting,
    {"local-steps", "E: steps of a client between two averages", "10"},
    {"data", "Distribution of rows: iid (random) or by-label (a client has a few digits only)",
     "iid"},
    {"clients", "C: share of clients that take part in a round", "100%"},
    {"rounds", "Training rounds after the timing", "100"},
    {"batch", "Rows per step of a client", "32"},
    {"learning-rate", "Learning rate of the clients' gradient descent", "0.1"},
};

constexpr const char* every_step = ", every step";
constexpr unsigned seed = 1;

struct FederatedOptions {
    explicit FederatedOptions(const Settings& settings)
        : network(network_of(settings).name),
          data(settings.word<ClientData>(
              "data", {{"iid", ClientData::iid}, {"by-label", ClientData::by_label}})),
          rounds(settings.number("rounds", 1, 1000000)),
          batch(static_cast<int>(settings.number("batch", 1, 1000))),
          rules{.local_steps = settings.number("local-steps", 1, 100000),
                .fraction = settings.fraction("clients"),
                .learning_rate = settings.real("learning-rate", 1e-9, 1000),
                .seed = seed} {
        if (!(rules.fraction > 0) || rules.fraction > 1)
            throw Error(
                fmt::format("--clients {} is not a share above 0 and up to 100%, for "
                            "example 50%",
                            settings.text("clients")));
    }

    std::string network;
    ClientData data;
    std::int64_t rounds;
    int batch;
    FederatedTrainer::Rules rules;
};

class FederatedScenario final : public Scenario {
public:
    FederatedScenario(const Settings& settings, const WorkloadEnvironment& environment)
        : world_(environment.planner.world()),
          options_(settings),
          data_(split(digits())),
          learner_(learner_of(world_.rank())),
          site_(environment.planner, learner_.first_weights().size() + 1, environment.buffers) {}

    std::string model() const override { return options_.network; }
    bool has_compute_mode() const override { return false; }
    std::int64_t bytes_of_step() const override {
        return static_cast<std::int64_t>((learner_.first_weights().size() + 1) * sizeof(float));
    }
    std::int64_t calls_of_step() const override { return 1; }

    std::vector<std::string> notes() const override {
        return {fmt::format(
                    "{}: {} clients with about {} rows each; a step is a round of {} local steps",
                    options_.network, world_.size(), learner_.rows(), options_.rules.local_steps),
                fmt::format("each round averages b (N + 1) = {} bytes per client; averaging after "
                            "every step sends E times that: {}",
                            bytes_of_step(), options_.rules.local_steps * bytes_of_step())};
    }

    // Adds the first method once more, averaging every step, as the baseline.
    std::vector<Method> methods(std::vector<Method> named) const override {
        if (named.empty()) return named;
        Method often = named.front();
        often.name += every_step;
        named.push_back(std::move(often));
        return named;
    }

    MadeOrRefused<Steps> steps(const Method& method) override {
        auto [sum, refusal] = VectorSum::make(site_, method);
        if (!sum) return {nullptr, std::move(refusal)};
        if (method.name.find("+topk") != std::string::npos)
            return {nullptr,
                    "weights are averaged here, not gradients, and topk would drop most of them"};
        FederatedTrainer::Rules rules = options_.rules;
        rules.averages_every_step = method.name.ends_with(every_step);
        TrainingPlan plan{.steps = options_.rounds, .test = data_.test, .tally = sum->tally()};
        if (sum->is_exact())
            plan.weights_of_one_rank = [this, rules](std::int64_t rounds) {
                return averaged_on_one_rank(rules, rounds);
            };
        return {training_steps(
            world_, std::make_unique<FederatedTrainer>(world_, std::move(sum), learner_, rules),
            learner_, std::move(plan))};
    }

private:
    DigitsLearner learner_of(Rank client) const {
        return {options_.network,
                rows_of_client(data_.train, options_.data, client, world_.size(), seed),
                options_.batch,
                {},
                seed};
    }

    // Runs all clients one after the other, which gives the expected weights.
    std::vector<float> averaged_on_one_rank(const FederatedTrainer::Rules& rules,
                                            std::int64_t rounds) const {
        std::vector<DigitsLearner> clients;
        for (int client = 0; client < world_.size(); ++client)
            clients.push_back(learner_of(Rank{client}));
        std::vector<float> weights = learner_.first_weights();
        const auto descent = sgd(weights.size(), {.momentum = 0});
        const std::int64_t times = rules.averages_every_step ? rules.local_steps : 1;
        for (std::int64_t aggregation = 0; aggregation < rounds * times; ++aggregation) {
            std::vector<double> sum(weights.size());
            double rows = 0;
            for (const Rank rank :
                 clients_of_round(aggregation / times, rules.fraction, world_.size(), rules.seed)) {
                DigitsLearner& client = at(clients, rank);
                const auto own = client.network().weights();
                std::ranges::copy(weights, own.begin());
                for (std::int64_t local = 0; local < rules.local_steps / times; ++local) {
                    client.compute_gradients(1, [] {});
                    descent->step(own, client.network().gradients(), rules.learning_rate);
                }
                for (std::size_t i = 0; i < sum.size(); ++i)
                    sum[i] += static_cast<double>(client.rows()) * static_cast<double>(own[i]);
                rows += client.rows();
            }
            for (std::size_t i = 0; i < sum.size(); ++i)
                weights[i] = static_cast<float>(sum[i] / rows);
        }
        return weights;
    }

    World& world_;
    FederatedOptions options_;
    Split data_;
    DigitsLearner learner_;
    VectorSum::Site site_;
};

}  // namespace

Workload federated_workload() {
    return {
        .name = "federated",
        .what = "clients with data of their own take local steps, then their weights are averaged",
        .settings = setting_rows,
        .check = [](const Settings& settings) { FederatedOptions{settings}; },
        .make = [](const Settings& settings,
                   const WorkloadEnvironment& environment) -> std::unique_ptr<Scenario> {
            return std::make_unique<FederatedScenario>(settings, environment);
        }};
}

}  // namespace tutti
