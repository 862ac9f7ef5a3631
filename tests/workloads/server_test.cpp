// SPDX-License-Identifier: Apache-2.0
// Parameter servers and federated clients, their ranks as threads: bytes, staleness, what is
// learnt.
#include "workloads/learn/servers/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/index.hpp"
#include "collectives/transport/messages/loopback.hpp"
#include "tests/base/messages.hpp"
#include "workloads/learn/servers/federated_trainer.hpp"
#include "workloads/learn/servers/server_trainer.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {
namespace {

// A server whose workers are played by the test; the weights are one number, a step moves them by
// the gradient.
struct PlayedServer {
    explicit PlayedServer(ServerRules rules)
        : server(rules, std::vector<float>{0.0f}, plain, {.of_one_rank = 1},
                 [this](int worker, ServerReply reply) {
                     answers.push_back({worker, reply});
                 }) {}

    static constexpr OptimizerKind plain{"plain", 1,
                                         [](std::size_t n) { return sgd(n, {.momentum = 0}); }};
    void push(int worker, float gradient, Pushed pushed = Pushed::one_of_many) {
        gradients.push_back(std::make_unique<float>(gradient));
        server.take(worker, std::span(gradients.back().get(), 1), pushed);
    }
    float weight() const { return server.weights().front(); }
    std::vector<std::pair<int, ServerReply>> take_answers() { return std::exchange(answers, {}); }

    std::vector<std::pair<int, ServerReply>> answers;
    std::vector<std::unique_ptr<float>> gradients;
    Server server;
};

using Answers = std::vector<std::pair<int, ServerReply>>;

// A job of `ranks` threads that trains by `architecture` for `steps` steps.
struct Trained {
    std::vector<float> weights;
    std::vector<ServerTraffic> traffic;
    std::vector<Metric> counted;
    double accuracy = 0;

    double metric(std::string_view name) const {
        for (const Metric& one : counted)
            if (one.name == name) return one.value;
        return -1;
    }
};

Trained trained(int ranks, const Architecture& architecture, std::int64_t steps,
                const char* network = "logistic") {
    Trained result;
    result.traffic.resize(static_cast<std::size_t>(ranks));
    run_as_threads(ranks, 60, [&](World& world) {
        const auto transport = loopback_transport(world);
        const Split data = split(digits());
        DigitsLearner learner(network, data.train, 32, {world.rank(), world.size()}, 1);
        const std::size_t most = learner.first_weights().size() * sizeof(float) + 64;
        Mailbox pushes(world, *transport, 0, most), pulls(world, *transport, 100, most);
        ServerTrainer trainer(
            world, {pushes, pulls}, learner, architecture, find_optimizer("sgd"),
            {.of_one_rank = find_optimizer("sgd").learning_rate, .steps = static_cast<int>(steps)});
        world.barrier();
        trainer.run(steps, StepPart::whole);
        trainer.gather_weights();
        const auto counted = trainer.metrics();
        at(result.traffic, world.rank().index) = trainer.traffic();
        if (!world.is_first()) return;
        result.counted = counted;
        const auto found = learner.network().weights();
        result.weights.assign(found.begin(), found.end());
        result.accuracy = learner.network().accuracy(data.test);
    });
    return result;
}

Architecture architecture(int ranks, int servers, bool is_synchronous) {
    return {.servers = servers,
            .rules = {.workers = ranks,
                      .updates = is_synchronous ? ServerUpdates::synchronous
                                                : ServerUpdates::asynchronous}};
}

ServerOptions choice_of(std::map<std::string, std::string> typed) {
    return server_options(Settings(server_settings(), std::move(typed)));
}

}  // namespace

TEST(Tournament, BringsEachRankTogetherWithEachOtherOnce) {
    for (const int ranks : {2, 3, 4, 7, 8, 13}) {
        std::set<std::pair<int, int>> met;
        for (int round = 0; round < ranks - 1 + ranks % 2; ++round)
            for (int rank = 0; rank < ranks; ++rank) {
                const auto other = partner(Rank{rank}, round, ranks);
                if (!other) continue;
                EXPECT_EQ(partner(*other, round, ranks), Rank{rank});
                EXPECT_TRUE(met.insert({rank, other->index}).second);
            }
        EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1)));
    }
}

TEST(SynchronousServer, AppliesAllGradientsOfAStepTogether) {
    PlayedServer play({.workers = 2});
    play.server.begin(2);
    EXPECT_EQ(play.take_answers(), (Answers{{0, ServerReply::proceed}, {1, ServerReply::proceed}}));
    play.push(1, 3);
    EXPECT_EQ(play.weight(), 0);
    EXPECT_EQ(play.server.waits_for(), 0);
    EXPECT_TRUE(play.take_answers().empty());
    play.push(0, 1);
    EXPECT_EQ(play.weight(), -4);  // parts of a mean add up
    EXPECT_EQ(play.take_answers(), (Answers{{0, ServerReply::last}, {1, ServerReply::last}}));
    play.push(0, 0, Pushed::last);
    EXPECT_FALSE(play.server.is_over());
    play.push(1, 0, Pushed::last);
    EXPECT_TRUE(play.server.is_over());
    EXPECT_TRUE(play.take_answers().empty());
}

TEST(SynchronousServer, DropsTheSlowestAndCountsIt) {
    PlayedServer play({.workers = 3, .dropped = 1});
    play.server.begin(2);
    play.take_answers();
    play.push(0, 1);
    play.push(1, 1);
    EXPECT_EQ(play.weight(), -3);  // the same as if the third had sent the others' mean
    EXPECT_EQ(play.take_answers(), (Answers{{0, ServerReply::last}, {1, ServerReply::last}}));
    play.push(2, 100);  // late
    EXPECT_EQ(play.weight(), -3);
    EXPECT_EQ(play.server.late(), 1);
    EXPECT_EQ(play.take_answers(), (Answers{{2, ServerReply::last}}));
    play.push(0, 0, Pushed::last);
    play.push(1, 0, Pushed::last);
    EXPECT_EQ(play.server.version(), 2);
    EXPECT_FALSE(play.server.is_over());  // the last one's gradient is still to be taken
    play.push(2, 100, Pushed::last);
    EXPECT_EQ(play.weight(), -3);
    EXPECT_EQ(play.server.late(), 2);
    EXPECT_TRUE(play.server.is_over());
}

TEST(SynchronousServer, StopsWhoComesAfterTheEnd) {
    PlayedServer play({.workers = 2, .dropped = 1});
    play.server.begin(2);
    play.push(0, 1);
    play.push(0, 1, Pushed::last);
    play.take_answers();
    play.push(1, 1);
    EXPECT_EQ(play.take_answers(), (Answers{{1, ServerReply::stop}}));
    EXPECT_TRUE(play.server.is_over());
}

TEST(AsynchronousServer, AppliesEachGradientAndCountsItsStaleness) {
    PlayedServer play({.workers = 2, .updates = ServerUpdates::asynchronous});
    play.server.begin(2);
    play.take_answers();
    play.push(0, 1);  // 0 updates since it pulled
    EXPECT_EQ(play.weight(), -1);
    EXPECT_EQ(play.take_answers(), (Answers{{0, ServerReply::last}}));
    play.push(0, 1, Pushed::last);  // 0 again: the other one has not come yet
    play.push(1, 1);                // 2
    EXPECT_EQ(play.take_answers(), (Answers{{1, ServerReply::last}}));
    play.push(1, 1, Pushed::last);  // 0
    EXPECT_EQ(play.server.staleness(), (std::vector<std::int64_t>{3, 0, 1}));
    EXPECT_EQ(play.server.version(), 4);
    EXPECT_TRUE(play.server.is_over());
}

TEST(AsynchronousServer, HoldsBackWhoIsTooFarAheadOfTheSlowest) {
    PlayedServer play({.workers = 2, .updates = ServerUpdates::asynchronous, .staleness_bound = 1});
    play.server.begin(10);
    play.take_answers();
    play.push(0, 1);
    EXPECT_EQ(play.take_answers(), (Answers{{0, ServerReply::proceed}}));
    play.push(0, 1);
    EXPECT_TRUE(play.take_answers().empty());  // two ahead
    EXPECT_EQ(play.server.waits_for(), 1);
    play.push(1, 1);
    EXPECT_EQ(play.take_answers(), (Answers{{0, ServerReply::proceed}, {1, ServerReply::proceed}}));
}

// Worker: b N up and b N down. All workers' traffic at a server: 2 P b N / S, by parts of N.
TEST(ParameterServers, SendWhatTheFormulaSays) {
    constexpr std::int64_t steps = 3, weights = 64 * 10 + 10;
    for (const int ranks : {1, 2, 3, 4})
        for (int servers = 1; servers <= ranks; ++servers)
            for (const bool is_synchronous : {true, false}) {
                const auto done =
                    trained(ranks, architecture(ranks, servers, is_synchronous), steps);
                std::int64_t pushed = 0, pulled = 0, served = 0;
                for (const ServerTraffic& of : done.traffic) {
                    pushed += of.pushed;
                    pulled += of.pulled;
                    served += of.served;
                    if (is_synchronous) {
                        EXPECT_EQ(of.pushed, 4 * weights * steps);
                        EXPECT_EQ(of.pulled, 4 * weights * steps);
                    }
                }
                EXPECT_EQ(pushed, ranks * 4 * weights * steps);
                EXPECT_EQ(pulled, pushed);
                EXPECT_EQ(served, 2 * pushed);
                for (int server = 0; server < servers; ++server) {
                    const std::int64_t part =
                        (server + 1) * weights / servers - server * weights / servers;
                    const Rank rank = rank_of_server(server, servers, ranks);
                    EXPECT_EQ(at(done.traffic, rank).served, 2 * ranks * 4 * part * steps);
                }
            }
}

TEST(ParameterServers, LearnSynchronouslyTheSameBitForBitHoweverManyServe) {
    const auto one = trained(4, architecture(4, 1, true), 20, "mlp").weights;
    EXPECT_EQ(trained(4, architecture(4, 4, true), 20, "mlp").weights, one);
    EXPECT_EQ(trained(4, architecture(4, 3, true), 20, "mlp").weights, one);
}

TEST(ParameterServers, LearnTheDigitsInEitherMode) {
    for (const int servers : {1, 4})
        for (const bool is_synchronous : {true, false}) {
            const auto done = trained(4, architecture(4, servers, is_synchronous), 440, "mlp");
            EXPECT_GE(done.accuracy, 0.95) << servers << " " << is_synchronous;
            EXPECT_EQ(done.metric("gradients"), 4 * 440);
            // Between two gradients of one worker, each other gradient is applied once: the mean is
            // n - 1 for any speeds, except for gradients before a worker's first.
            if (!is_synchronous) {
                EXPECT_NEAR(done.metric("mean_staleness"), 3, 0.1);
            }
        }
}

TEST(ParameterServers, WithABoundNoWorkerIsFarAhead) {
    Architecture bounded = architecture(4, 1, false);
    bounded.rules.staleness_bound = 0;
    const auto done = trained(4, bounded, 30);
    // Each other worker may be one step ahead or late.
    EXPECT_LE(done.metric("max_staleness"), 2 * 3);
    EXPECT_EQ(done.metric("gradients"), 4 * 30);
}

TEST(ParameterServers, GoOnWithoutTheSlowest) {
    Architecture dropping = architecture(4, 1, true);
    dropping.rules.dropped = 1;
    dropping.skew = {.slow = Rank{3}, .slow_factor = 20};
    const auto done = trained(4, dropping, 100);
    EXPECT_GT(done.metric("late"), 0);
    EXPECT_GE(done.accuracy, 0.8);
}

TEST(ParameterServers, NameTheRankThatDoesNotAnswer) {
    const Thrown thrown = thrown_by([] {
        run_as_threads(2, 0.2, [&](World& world) {
            const auto transport = loopback_transport(world);
            DigitsLearner learner("logistic", split(digits()).train, 32,
                                  {world.rank(), world.size()}, 1);
            Mailbox pushes(world, *transport, 0, 4096), pulls(world, *transport, 100, 4096);
            ServerTrainer trainer(world, {pushes, pulls}, learner, architecture(2, 1, true),
                                  find_optimizer("sgd"), {});
            if (world.is_first()) trainer.run(5, StepPart::whole);  // the other one never comes
        });
    });
    EXPECT_EQ(thrown.code, Exit::time_out);
    EXPECT_TRUE(holds(thrown.text, {"in parameter-server", "of rank 1"}));
}

TEST(ServerSettings, SayWhatToTypeInstead) {
    EXPECT_THROW(choice_of({{"servers", "0"}}), Error);
    EXPECT_THROW(choice_of({{"servers", "1,"}}), Error);
    EXPECT_THROW(choice_of({{"mode", "both"}}), Error);
    EXPECT_THROW(choice_of({{"slow-rank", "3"}}), Error);
    EXPECT_THROW(choice_of({{"slow-rank", "3:0.5"}}), Error);
    EXPECT_THROW(choice_of({{"staleness-bound", "-1"}}), Error);
    EXPECT_THROW(server_modes(choice_of({{"servers", "5"}}), 4), Error);
    EXPECT_THROW(server_modes(choice_of({{"drop-slowest", "4"}}), 4), Error);
    EXPECT_THROW(server_modes(choice_of({{"slow-rank", "4:2"}}), 4), Error);
    std::vector<std::string> names;
    for (const ServerMode& method : server_modes(
             choice_of({{"servers", "1"}, {"slow-rank", "3:3"}, {"drop-slowest", "1"}}), 4))
        names.push_back(method.name);
    EXPECT_EQ(names, (std::vector<std::string>{"1 server sync", "1 server sync, slowed",
                                               "1 server sync, slowed, dropping 1",
                                               "1 server async", "1 server async, slowed"}));
}

TEST(Clients, HaveEachRowOnce) {
    const Dataset all = digits();
    for (const ClientData how : {ClientData::iid, ClientData::by_label}) {
        int rows = 0;
        std::vector<int> of_label(10);
        for (int client = 0; client < 5; ++client) {
            const Dataset mine = rows_of_client(all, how, Rank{client}, 5, 1);
            rows += mine.rows();
            std::set<int> labels(mine.labels.begin(), mine.labels.end());
            for (const int label : mine.labels) ++at(of_label, label);
            if (how == ClientData::iid)
                EXPECT_EQ(labels.size(), 10U);
            else
                EXPECT_LE(labels.size(), 4U);
        }
        EXPECT_EQ(rows, all.rows());
        for (int label = 0; label < 10; ++label)
            EXPECT_EQ(at(of_label, label), std::ranges::count(all.labels, label));
    }
}

TEST(Clients, TakePartInTheShareOfRoundsThatIsAskedFor) {
    std::vector<int> times(8);
    for (int round = 0; round < 400; ++round) {
        const auto clients = clients_of_round(round, 0.25, 8, 1);
        EXPECT_EQ(clients.size(), 2U);
        for (const Rank client : clients) ++at(times, client);
    }
    for (const int of_client : times) EXPECT_NEAR(of_client, 100, 40);
    EXPECT_EQ(clients_of_round(0, 0.01, 8, 1).size(), 1U);
}

// Checked against all clients in one process; a tenth of the bytes, and the digits are learnt.
TEST(Federated, AveragesWeightsOfClientsWithDifferentData) {
    for (const char* data : {"iid", "by-label"}) {
        const Workload& workload = find_workload("federated");
        const Settings asked(workload.settings,
                             {{"network", "logistic"}, {"data", data}, {"clients", "75%"}});
        workload.check(asked);
        run_as_threads(4, 60, [&](World& world) {
            Planner planner(world);
            const auto scenario = workload.make(asked, {.planner = planner});
            const auto methods = scenario->methods(methods_named(
                {.algorithms = {"ring"}, .transports = {"loopback"}, .baselines = {"none"}}));
            const auto steps =
                run_scenario(world, *scenario, methods, {.min_rounds = 2, .max_rounds = 2});
            ASSERT_EQ(steps.size(), 2U);
            for (const TrainingStep& step : steps) {
                ASSERT_FALSE(step.skipped);
                EXPECT_EQ(step.check.state, CheckState::ok) << step.key.method;
                EXPECT_EQ(step.key.bytes, 4 * (64 * 10 + 10 + 1));
                const double averages = &step == &steps[0] ? 100 : 1000;
                const auto metric = [&](std::string_view name) {
                    return std::ranges::find(step.metrics, name, &Metric::name)->value;
                };
                EXPECT_GE(metric("accuracy"), 0.85) << step.key.method;
                EXPECT_EQ(metric("averages"), averages);
                EXPECT_EQ(metric("client_bytes"), averages * 4 * (64 * 10 + 10 + 1));
                EXPECT_NEAR(metric("bytes_saved"), 1 - averages / 1000, 1e-9);
            }
        });
    }
}

TEST(ParameterServerWorkload, AlternatesAllArchitecturesWithRightResults) {
    const Workload& workload = find_workload("parameter-server");
    const Settings asked(workload.settings,
                         {{"network", "logistic"}, {"epochs", "1"}, {"drop-slowest", "1"}});
    workload.check(asked);
    run_as_threads(3, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = workload.make(asked, {.planner = planner});
        const auto methods = scenario->methods(methods_named(
            {.algorithms = {"ring"}, .transports = {"loopback"}, .baselines = {"none"}}));
        std::vector<std::string> checked, skipped;
        for (const TrainingStep& step :
             run_scenario(world, *scenario, methods, {.min_rounds = 2, .max_rounds = 2})) {
            if (step.skipped)
                skipped.push_back(step.key.method);
            else if (step.check.state != CheckState::skipped)
                checked.push_back(step.key.method);
            EXPECT_NE(step.check.state, CheckState::fail) << step.key.method;
        }
        EXPECT_EQ(checked, (std::vector<std::string>{"1 server sync", "all servers sync",
                                                     "all-reduce ring/loopback"}));
        EXPECT_EQ(skipped, (std::vector<std::string>{"all servers sync, dropping 1"}));
    });
}

}  // namespace tutti
