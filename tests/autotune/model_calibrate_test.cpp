// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autotune/model/calibrate.hpp"
#include "autotune/model/nnls.hpp"
#include "autotune/tuner/calibration.hpp"
#include "base/error.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "tests/autotune/model_call.hpp"

namespace tutti {
namespace {

// A machine with a switch of protocol at 4 KiB, whose bytes cost more outside the caches.
LogGpParameters planted() {
    LogGpParameters parameters =
        LogGpParameters::uniform(/*step=*/400, /*message=*/150, /*copy=*/0.05, /*reduce=*/0.12);
    parameters.ns[LogGpParameters::call] = 200;
    parameters.ns[LogGpParameters::context_switch] = 1500;
    for (std::size_t i = 0; i < message_points.size(); ++i)
        if (message_points[i] >= 4096) parameters.ns[LogGpParameters::message + i] = 900;
    for (const PerByte kind : {PerByte::copy, PerByte::reduce}) {
        parameters.ns[LogGpParameters::begin_of(kind) + 3] *= 2;
        parameters.ns[LogGpParameters::begin_of(kind) + 4] *= 3;
    }
    std::fill_n(parameters.ns.begin() + LogGpParameters::begin_of(PerByte::own),
                footprint_points.size(), 0.04);
    return parameters;
}

// Between 1 - amount and 1 + amount, always the same row of numbers.
class Noise {
public:
    explicit Noise(double amount) : amount_(amount) {}
    double next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        const double unit = static_cast<double>(state_ >> 11) / 9007199254740992.0;
        return 1 + amount_ * (2 * unit - 1);
    }

private:
    double amount_;
    std::uint64_t state_ = 1;
};

std::vector<Observation> measured_on(const CostModel& machine, const Placement& hosts,
                                     double noise) {
    Noise factor(noise);
    const std::vector<BufferKind> kinds{BufferKind::registered, BufferKind::unregistered};
    std::vector<std::string> transports{"mpi"};
    if (hosts.nodes().size() == 1) transports.push_back("shm");
    std::vector<Observation> seen;
    for (const ModelProbe& probe : calibration_plan(hosts, transports, kinds)) {
        Observation& one = seen.emplace_back();
        one.configuration = probe.configuration;
        one.call = probe.call;
        one.time_ns = machine.predict(one.configuration, one.call).value() * factor.next();
        if (seen.size() % 20 == 0) one.time_ns *= 3;  // and an outlier now and then
    }
    return seen;
}

// Sorted errors over schedules and sizes that were not measured.
std::vector<double> errors_of(const CostModel& model, const CostModel& truth, int ranks,
                              int per_host) {
    std::vector<double> errors;
    for (const Algorithm& row : catalog())
        for (std::int64_t bytes = 96; bytes <= 6 << 20; bytes *= 4)
            for (const char* transport : {"mpi", "shm"}) {
                const RoutedCall call =
                    model_call(row.collective, ranks, per_host, bytes / 4 / ranks);
                const Configuration configuration = configured(std::string(row.name), transport);
                const auto expected = truth.predict(configuration, call);
                const auto found = model.predict(configuration, call);
                if (!expected) continue;
                EXPECT_TRUE(found) << row.name;
                errors.push_back(std::abs(found.value_or(0) / *expected - 1));
            }
    std::ranges::sort(errors);
    return errors;
}

TEST(Observation, IsOfQuietHostsOnly) {
    Point point;
    point.key.configuration = {.impl = "tutti", .algorithm = "ring", .transport = "shm"};
    point.key.buf = "registered";
    point.key.nranks = point.key.ppn = 2;
    point.key.count = 256;
    point.key.bytes = {1024};
    point.time.n = 20;
    point.time.p50 = 1000;
    EXPECT_TRUE(observation_of(point).has_value());
    point.key.aggressor = "memory";
    EXPECT_FALSE(observation_of(point).has_value());
}

TEST(Calibration, FindsWhatWasPlantedDespiteNoiseAndOutliers) {
    for (const int cores : {4, 2}) {  // a core for each rank, or one for two
        const CostModel truth = model_of(planted(), cores);
        const CostModel model = calibrate(measured_on(truth, Placement::one_node(4), 0.1),
                                          {.fingerprint = "f", .cores = cores});
        const auto errors = errors_of(model, truth, 4, 4);
        EXPECT_LE(errors[errors.size() / 2], 0.04);
        EXPECT_LE(errors[errors.size() * 9 / 10], 0.15);
    }
}

TEST(Calibration, SaysSoOfOtherRankCountsToo) {
    const CostModel truth = model_of(planted(), 64);
    const CostModel model =
        calibrate(measured_on(truth, Placement::one_node(4), 0.05), {.cores = 64});
    const auto errors = errors_of(model, truth, 16, 16);
    EXPECT_LE(errors[errors.size() / 2], 0.10);
}

TEST(Calibration, SeparatesTheNetworkFromTheHost) {
    ModelParameters known = model_of(planted(), 4).parameters();
    for (auto& [name, parameters] : known.across) {
        parameters = LogGpParameters::uniform(/*step=*/20000, /*message=*/1000, /*copy=*/0.1,
                                              /*reduce=*/0.2);
        parameters.ns[LogGpParameters::link] = 1;
    }
    const CostModel truth(known);
    const CostModel model =
        calibrate(measured_on(truth, Placement::in_nodes_of(4, 2), 0.05), {.cores = 4});
    const auto same = errors_of(model, truth, 4, 2);
    EXPECT_LE(same[same.size() / 2], 0.05);
    const auto more = errors_of(model, truth, 16, 4);
    EXPECT_LE(more[more.size() / 2], 0.15);
}

TEST(Calibration, FindsTheCostOfAByte) {
    const CostModel truth = model_of(planted(), 4);
    const CostModel model =
        calibrate(measured_on(truth, Placement::one_node(4), 0.05), {.cores = 4});
    const LogGpParameters& mpi = model.parameters().within.at("mpi/registered");
    const std::size_t at_1M = 2;
    EXPECT_NEAR(mpi.ns[LogGpParameters::begin_of(PerByte::reduce) + at_1M], 0.12, 0.02);
    EXPECT_NEAR(mpi.ns[LogGpParameters::begin_of(PerByte::copy) + at_1M] +
                    mpi.ns[LogGpParameters::begin_of(PerByte::send) + at_1M],
                0.05, 0.015);
}

TEST(Calibration, SaysWhatItWasMadeWith) {
    const CostModel truth = model_of(planted(), 4);
    std::vector<Observation> seen = measured_on(truth, Placement::one_node(2), 0);
    const auto more = measured_on(truth, Placement::one_node(4), 0);
    seen.insert(seen.end(), more.begin(), more.end());
    const CostModel model = calibrate(seen, {.fingerprint = "of this host", .cores = 4});
    EXPECT_EQ(model.parameters().ranks, (std::vector<int>{2, 4}));
    EXPECT_EQ(model.parameters().machine.fingerprint, "of this host");
    EXPECT_FALSE(model.parameters().date.empty());
}

TEST(Calibration, NeedsTimesOfOurAlgorithms) {
    EXPECT_THROW(calibrate({}, {}), Error);
    Observation library;
    library.configuration.impl = "mpi";
    library.call = model_call(Collective::all_reduce, 2, 2, 1);
    library.time_ns = 100;
    EXPECT_THROW(calibrate(std::vector{library}, {}), Error);
}

TEST(CalibrationPlan, AsksForFewThings) {
    const std::vector<std::string> transports{"shm", "mpi", "ucx"};
    const std::vector<BufferKind> kinds{BufferKind::registered, BufferKind::unregistered};
    const auto plan = calibration_plan(Placement::one_node(4), transports, kinds);
    std::size_t candidates = 0;  // times 20 sizes and the same ways: the exhaustive search
    for (const Algorithm& row : catalog()) candidates += row.name.empty() ? 0 : 1;
    EXPECT_LE(plan.size(), candidates * 20 * 6 / 7);
    for (const ModelProbe& probe : plan)
        EXPECT_NO_THROW(find_algorithm(probe.call.call.collective, probe.configuration.algorithm));
}

TEST(ModelComparison, PrefersTheModelThatIsNearerToTimesThatNeitherWasFittedTo) {
    const CostModel truth = model_of(planted(), 4);
    const ModelledMachine machine{.cores = 4};
    std::vector<Observation> few;  // a short run on a noisy machine
    for (const Observation& one : measured_on(truth, Placement::one_node(4), 0.5))
        if (one.configuration.algorithm == "ring") few.push_back(one);
    const ModelComparison noisy = compare_models(few, machine, truth);
    EXPECT_TRUE(noisy.stored_is_better()) << noisy.stored_error << ' ' << noisy.new_error;

    const auto seen = measured_on(truth, Placement::one_node(4), 0.05);
    ModelParameters slow = truth.parameters();
    for (auto& [name, parameters] : slow.within)
        for (double& ns : parameters.ns) ns *= 2;
    const ModelComparison wrong = compare_models(seen, machine, CostModel(slow));
    EXPECT_FALSE(wrong.stored_is_better());
    EXPECT_NEAR(wrong.stored_error, 1, 0.05);
    EXPECT_LE(wrong.new_error, 0.1);
    EXPECT_NEAR(static_cast<double>(wrong.points), static_cast<double>(seen.size()) / 5,
                static_cast<double>(seen.size()) / 25);
}

TEST(ModelComparison, KnowsNoBetterWhereBothKnowNothingInCommon) {
    const auto seen = measured_on(model_of(planted(), 4), Placement::one_node(4), 0.05);
    EXPECT_FALSE(compare_models(seen, {.cores = 4}, CostModel()).stored_is_better());
    EXPECT_EQ(compare_models(seen, {.cores = 4}, CostModel()).points, 0U);
    EXPECT_EQ(compare_models({}, {.cores = 4}, CostModel()).points, 0U);
}

TEST(NonNegativeFit, IsTheSolutionWhereAllOfItIsPositive) {
    NonNegativeFit fit(2);
    fit.add(std::vector<double>{1, 1}, 5, 1);
    fit.add(std::vector<double>{1, -1}, 1, 1);
    const auto x = fit.solve({1, 1});
    EXPECT_NEAR(x[0], 3, 1e-5);
    EXPECT_NEAR(x[1], 2, 1e-5);
}

// x + y = 1 and y = 2 want x = -1; with x = 0 the best y is half way.
TEST(NonNegativeFit, KeepsWhatWouldBeNegativeAtNothing) {
    NonNegativeFit fit(2);
    fit.add(std::vector<double>{1, 1}, 1, 1);
    fit.add(std::vector<double>{0, 1}, 2, 1);
    const auto x = fit.solve({1, 1});
    EXPECT_EQ(x[0], 0);
    EXPECT_NEAR(x[1], 1.5, 1e-5);
}

TEST(NonNegativeFit, HeedsWeightsAndLeavesTheUnnamedAsItIs) {
    NonNegativeFit fit(2);
    fit.add(std::vector<double>{1, 0}, 1, 3);
    fit.add(std::vector<double>{1, 0}, 5, 1);
    const auto x = fit.solve({1, 7});
    EXPECT_NEAR(x[0], 2, 1e-5);
    EXPECT_EQ(x[1], 7);
}

}  // namespace

}  // namespace tutti
