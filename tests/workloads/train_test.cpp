// SPDX-License-Identifier: Apache-2.0
// Networks that ranks train together: what they learn, whether they stay equal, and what they send.
#include <gtest/gtest.h>

#include "tests/base/messages.hpp"
#include "workloads/learn/data_parallel/exchange.hpp"
#include "workloads/learn/data_parallel/gradient_exchange.hpp"
#include "workloads/learn/data_parallel/trainer.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {
namespace {

constexpr BucketCaps small_buckets{Bytes{1000}, Bytes{50'000}};

TrainingSetup setup_of(const char* network, const char* optimizer, int epochs) {
    TrainingSetup setup{.network = network,
                        .data = split(digits()),
                        .optimizer = optimizer,
                        .batch = 32,
                        .epochs = epochs};
    if (setup.is_by_lbfgs())
        setup.batch = setup.data.train.rows();
    else
        setup.rate = {.of_one_rank = find_optimizer(optimizer).learning_rate,
                      .steps = setup.steps()};
    return setup;
}

std::vector<Method> methods_called(const std::vector<std::string>& algorithms) {
    return methods_named(
        {.algorithms = algorithms, .transports = {"shm", "loopback"}, .baselines = {"none"}});
}

// Gradients added up in each of these methods, in several buckets.
void for_each_method(
    int ranks, const TrainingSetup& setup, const std::vector<std::string>& algorithms,
    const std::function<void(World&, GradientExchange&, const std::string&)>& body) {
    run_as_threads(ranks, 60, [&](World& world) {
        Planner planner(world);
        Network network = setup.new_network();
        GradientMemory memory(world, network, small_buckets, std::nullopt);
        const Environment environment{
            .ranks = ranks, .hosts = world.hosts(), .default_segment = default_segment(world)};
        for (const Method& method : methods_called(algorithms)) {
            const auto of_group = method.of_group(planner, environment);
            const auto [exchange, reason] = GradientExchange::make(memory, *of_group);
            if (!exchange && algorithms.front() == "all") continue;  // not for these ranks
            ASSERT_TRUE(exchange) << method.name << ": " << reason;
            body(world, *exchange, method.name);
        }
    });
}

Settings settings_of(std::map<std::string, std::string> typed) {
    return {find_workload("train").settings, std::move(typed)};
}

std::string refusal_of(std::map<std::string, std::string> typed) {
    return thrown_by([&] { find_workload("train").check(settings_of(std::move(typed))); }).text;
}

}  // namespace

// Two numbers have only one sum: no algorithm, transport or bucket may change a bit of it.
TEST(GradientExchange, OfTwoRanksGivesTheLossesThatAddingInRankOrderGives) {
    for (const char* network : {"logistic", "mlp", "cnn"}) {
        const TrainingSetup setup = setup_of(network, "sgd", 1);
        for_each_method(2, setup, {"ring", "two-shot", "tree", "butterfly"},
                        [&](World& world, GradientExchange& exchange, const std::string& method) {
                            AllGatherExchange all_gather(world);
                            const TrainingResult expected = train(world, setup, all_gather);
                            const TrainingResult result = train(world, setup, exchange);
                            EXPECT_EQ(result.losses, expected.losses) << network << " " << method;
                            EXPECT_EQ(result.differing_weights, 0) << network << " " << method;
                        });
    }
}

// A softmax regression has no kinks: the curves may part by rounding alone, all along.
TEST(GradientExchange, LeavesTheCurveOfOneRankWithTheWholeBatch) {
    for (const char* optimizer : {"sgd", "adam"})
        for (const int ranks : {1, 2, 3, 4}) {
            const TrainingSetup setup = setup_of("logistic", optimizer, 10);
            for_each_method(
                ranks, setup, {"ring", "two-shot"},
                [&](World& world, GradientExchange& exchange, const std::string& method) {
                    const TrainingResult one = train_on_one_rank(world, setup);
                    const TrainingResult all = train(world, setup, exchange);
                    EXPECT_LE(difference_of_losses(one, all), ranks == 1 ? 0 : 1e-6)
                        << optimizer << " " << method << " " << ranks;
                    EXPECT_EQ(all.losses.size(), 440U);
                });
        }
}

TEST(GradientExchange, OfShortTrainingLeavesTheCurveAlsoOfNetworksWithKinks) {
    for (const char* network : {"mlp", "cnn"}) {
        const TrainingSetup setup = setup_of(network, "sgd", 1);
        for_each_method(4, setup, {"ring", "two-shot"},
                        [&](World& world, GradientExchange& exchange, const std::string& method) {
                            const TrainingResult one = train_on_one_rank(world, setup);
                            const TrainingResult all = train(world, setup, exchange);
                            EXPECT_LE(difference_of_losses(one, all), 1e-5)
                                << network << " " << method;
                        });
    }
}

TEST(GradientExchange, KeepsWeightsEqualBitForBitWhereTheScheduleSaysSo) {
    const TrainingSetup setup = setup_of("mlp", "adam", 1);
    int promised = 0;
    for_each_method(3, setup, {"all"},
                    [&](World& world, GradientExchange& exchange, const std::string& method) {
                        if (!exchange.same_bits().value_or(false)) return;
                        EXPECT_EQ(train(world, setup, exchange).differing_weights, 0) << method;
                        if (world.is_first()) ++promised;
                    });
    EXPECT_GE(promised, 4);
}

// Each rank sees the batch's rows that no other sees: were one left out, accuracy would hardly
// change, but the loss would.
TEST(Training, OfSeveralRanksLearnsTheDigits) {
    for (const int ranks : {1, 2, 4})
        for (const auto& [network, optimizer, epochs] :
             {std::tuple("mlp", "sgd", 10), std::tuple("mlp", "lbfgs", 60),
              std::tuple("logistic", "adam", 60)}) {
            const TrainingSetup setup = setup_of(network, optimizer, epochs);
            for_each_method(
                ranks, setup, {"two-shot"},
                [&](World& world, GradientExchange& exchange, const std::string& method) {
                    if (method != "two-shot/shm") return;
                    const TrainingResult result = train(world, setup, exchange);
                    EXPECT_GE(result.accuracy, 0.95) << network << " " << ranks;
                    EXPECT_EQ(result.differing_weights, 0) << network << " " << ranks;
                });
        }
}

TEST(GradientExchange, GivesEveryRankTheSameNumbers) {
    const TrainingSetup setup = setup_of("logistic", "sgd", 1);
    for_each_method(3, setup, {"ring", "two-shot", "tree"},
                    [&](World& world, GradientExchange& exchange, const std::string& method) {
                        const auto numbers = exchange.numbers(0.1 * (world.rank().index + 1));
                        EXPECT_EQ(numbers, (std::vector{0.1 * 1, 0.1 * 2, 0.1 * 3})) << method;
                        EXPECT_EQ(exchange.count_wrong(5), 0) << method;
                    });
}

TEST(GradientExchange, GivesUpOnABucketThatDoesNotEndByItsName) {
    const TrainingSetup setup = setup_of("mlp", "sgd", 1);
    run_as_threads(2, 0.3, [&](World& world) {
        Planner planner(world);
        Network network = setup.new_network();
        GradientMemory memory(world, network, small_buckets, std::nullopt);
        const Environment environment{.ranks = 2, .hosts = world.hosts()};
        const auto of_group = methods_called({"ring"}).front().of_group(planner, environment);
        const auto exchange = GradientExchange::make(memory, *of_group).made;
        if (!world.is_first()) {  // is not there for the step, but later
            world.barrier();
            return;
        }
        const auto trainer = trainer_of(setup, world.rank(), world.size());
        const Thrown thrown = thrown_by([&] { trainer->step(0, *exchange); });
        EXPECT_EQ(thrown.code, Exit::time_out);
        EXPECT_TRUE(holds(thrown.text, "bucket 0 of 3"));
        world.barrier();
    });
}

TEST(GradientMemory, HasEveryGradientOnceInReadyOrder) {
    run_as_threads(2, 60, [&](World& world) {
        for (const NetworkKind& kind : all_networks()) {
            Network network = make_network(kind.name, 64, 10, 1);
            GradientMemory memory(world, network, small_buckets, BufferKind::unregistered);
            std::int64_t elements = 0;
            std::vector<int> in_buckets;
            for (const Bucket& bucket : memory.buckets()) {
                elements += bucket.count;
                in_buckets.insert(in_buckets.end(), bucket.parameters.begin(),
                                  bucket.parameters.end());
            }
            EXPECT_EQ(elements, static_cast<std::int64_t>(network.gradients().size()));
            EXPECT_TRUE(std::ranges::equal(in_buckets, memory.ready_order())) << kind.name;
        }
    });
}

// A step that is repeated without communication asks for as much as the one that was recorded.
TEST(ReplayedExchange, LetsAStepOfLbfgsComputeAsBefore) {
    const TrainingSetup setup = setup_of("logistic", "lbfgs", 14);
    run_as_threads(2, 60, [&](World& world) {
        const auto trainer = trainer_of(setup, world.rank(), world.size());
        AllGatherExchange all_gather(world);
        for (int step = 0; step < 12; ++step) trainer->step(step, all_gather);
        trainer->save_state();
        std::vector<ExchangeCall> asked, again;
        RecordingExchange recording(all_gather, asked);
        const double loss = trainer->step(12, recording);
        trainer->restore_state();
        ReplayedExchange repeated(asked);
        RecordingExchange recording_again(repeated, again);
        EXPECT_EQ(trainer->step(12, recording_again), loss);
        ASSERT_EQ(again.size(), asked.size());
        for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(again[i].kind, asked[i].kind);
        // A history of ten: 2 x 10 + 5 dot products, a loss at least, and a gradient with its loss.
        EXPECT_GE(asked.size(), 28U);
        trainer->restore_state();
        EXPECT_EQ(trainer->step(12, all_gather), loss);
    });
}

TEST(TrainWorkload, ReportsItsBytesAndWhatWasLearnt) {
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world);
        const Workload& row = find_workload("train");
        const auto run = [&](std::map<std::string, std::string> typed) {
            const auto scenario = row.make(settings_of(std::move(typed)), {.planner = planner});
            const auto methods = methods_named(
                {.algorithms = {"ring"}, .transports = {"shm"}, .baselines = {"none"}});
            return run_scenario(world, *scenario, methods, {.min_rounds = 2, .max_rounds = 2})
                .at(0);
        };
        const auto metric = [](const TrainingStep& step, const std::string& name) {
            return std::ranges::find(step.metrics, name, &Metric::name)->value;
        };
        const TrainingStep sgd = run({{"bucket-cap", "100K"}, {"epochs", "1"}});
        // By DDP's rule with 100 KiB: 2570 + 256 + 65536 values, then the first layer's 16640.
        EXPECT_EQ(sgd.key.bytes, 4 * 85002);
        EXPECT_EQ(sgd.key.calls, 2);
        EXPECT_EQ(sgd.check.state, CheckState::ok);
        EXPECT_EQ(metric(sgd, "same_weights"), 1);
        EXPECT_EQ(metric(sgd, "same_promised"), 1);
        EXPECT_LE(metric(sgd, "loss_difference"), 1e-5);
        EXPECT_EQ(metric(sgd, "calls_of_mean_step"), 2);

        const TrainingStep lbfgs =
            run({{"network", "logistic"}, {"optimizer", "lbfgs"}, {"epochs", "20"}});
        EXPECT_GE(lbfgs.key.calls, 28);
        EXPECT_GE(lbfgs.key.bytes, 650 * 4 + 27 * 16);
        EXPECT_EQ(lbfgs.key.bytes % 8, 0);
        EXPECT_GE(metric(lbfgs, "accuracy"), 0.9);

        const TrainingStep weak =
            run({{"network", "logistic"}, {"scaling", "weak"}, {"epochs", "4"}});
        EXPECT_LE(metric(weak, "loss_difference"), 1e-6);
    });
}

TEST(TrainWorkload, RefusesWhatCannotBeLearnt) {
    EXPECT_EQ(refusal_of({}), "");
    const auto expect = [](const std::string& words, std::map<std::string, std::string> typed) {
        const std::string reason = refusal_of(std::move(typed));
        EXPECT_TRUE(holds(reason, words));
    };
    expect("unknown network 'gpt'", {{"network", "gpt"}});
    expect("--optimizer newton", {{"optimizer", "newton"}});
    expect("1 to 1438", {{"batch", "5000"}});
    expect("lbfgs", {{"batch", "32"}, {"optimizer", "lbfgs"}});
    expect("--learning-rate", {{"learning-rate", "1"}, {"optimizer", "lbfgs"}});
    expect("strong, weak", {{"scaling", "some"}});
    expect("/none", {{"data", "/none"}});
    expect("at least 1 byte", {{"bucket-cap", "0"}});
    expect("--epochs 0 is not", {{"epochs", "0"}});
}

}  // namespace tutti
