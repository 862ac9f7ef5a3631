// SPDX-License-Identifier: Apache-2.0
// Predictions against the closed forms of the literature: latency L, overhead o at either end, G
// per byte copied and R per byte added up (LogGP: Alexandrov et al. 1995).
#include <gtest/gtest.h>

#include "autotune/model/schedule_walk.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "tests/autotune/model_call.hpp"

namespace tutti {
namespace {

constexpr double L = 1000, o = 300, G = 0.25, R = 0.75;
constexpr int P = 8;
constexpr std::int64_t n = 1 << 16;                 // floats
constexpr double N = 4.0 * static_cast<double>(n);  // bytes

CostModel textbook() { return model_of(LogGpParameters::uniform(L, o, G, R)); }

double predicted(Collective collective, const char* algorithm, std::int64_t count = n,
                 const char* transport = "mpi", Bytes segment = Bytes{0}) {
    Configuration configuration = configured(algorithm, transport);
    configuration.segment = segment;
    return textbook().predict(configuration, model_call(collective, P, P, count)).value();
}

struct Costs {
    Itemized items;  ///< with a core for each rank
    double time = 0;
    std::int64_t visits = 0;  ///< transfers looked at
};

Costs costs_of(const CostModel& model, const Configuration& configuration, const RoutedCall& call) {
    const ModelParameters& known = model.parameters();
    const auto plan = expected_plan(configuration, call, known.machine);
    const auto charged = parameters_for(known, plan.value(), call).value();
    const auto [time, visits] = cost_of<double>(*plan, call, charged, known.machine.cores);
    return {cost_of<Itemized>(*plan, call, charged, 1 << 30).first, time, visits};
}

// ns of the terms from `begin` on, up to but without `end`.
double share_of(const Costs& costs, const CostModel& model, std::size_t begin, std::size_t end) {
    const auto& ns = model.parameters().within.begin()->second.ns;
    double sum = 0;
    for (std::size_t term = begin; term < end; ++term) sum += costs.items.amount[term] * ns[term];
    return sum;
}

TEST(CostModel, EqualsTheClosedFormsOfTheTextbook) {
    const double rounds = 3;  // log2 P
    const double message = L + 2 * o;
    EXPECT_NEAR(predicted(Collective::all_gather, "ring"), (P - 1) * (message + N * G), 1e-3);
    EXPECT_NEAR(predicted(Collective::all_reduce, "ring"),
                2 * (P - 1) * message + (P - 1) * N / P * (R + G), 1e-3);
    EXPECT_NEAR(predicted(Collective::all_reduce, "butterfly"), rounds * (message + N * R), 1e-3);
    EXPECT_NEAR(predicted(Collective::all_reduce, "halving-doubling"),
                2 * rounds * message + N * (P - 1) / P * (R + G), 1e-3);
    EXPECT_NEAR(predicted(Collective::broadcast, "tree"), rounds * (message + N * G), 1e-3);
    EXPECT_NEAR(predicted(Collective::reduce, "tree"), rounds * (message + N * R), 1e-3);
}

// A barrier has no bytes, but its ranks wait for one another.
TEST(CostModel, ABarrierTakesLatenciesOnly) {
    EXPECT_NEAR(predicted(Collective::barrier, "dissemination", 0), 3 * (L + 2 * o), 1e-3);
    EXPECT_NEAR(predicted(Collective::barrier, "linear", 0, "shm-direct"), L + (P - 1) * o + L + o,
                1e-3);
}

TEST(CostModel, AScanGrowsFromRankToRank) {
    const Bytes whole{static_cast<std::int64_t>(N)};
    EXPECT_NEAR(predicted(Collective::scan, "chain", n, "mpi", whole),
                (P - 1) * (L + 2 * o + N * R), 1e-3);
}

TEST(CostModel, ARootSendsOneAfterTheOtherAndReceivesSo) {
    EXPECT_NEAR(predicted(Collective::broadcast, "linear"), (P - 1) * o + L + o + N * G, 1e-3);
    EXPECT_NEAR(predicted(Collective::gather, "linear"), o + L + (P - 1) * (o + N * G), 1e-3);
}

// The root's neighbour reads its memory, and takes no time of it; two ranks get messages.
TEST(CostModel, HybridReadsMemoryWithinAHostAndSendsMessagesToOthers) {
    RoutedCall call = model_call(Collective::broadcast, 4, 2, n);
    call.buffers = BufferKind::registered;
    EXPECT_NEAR(textbook().predict(configured("linear", "mpi"), call).value(),
                3 * o + L + o + N * G, 1e-3);
    EXPECT_NEAR(textbook().predict(configured("linear", "hybrid"), call).value(),
                2 * o + L + o + N * G, 1e-3);
}

// The first segment pays every latency; each following one takes the time that a rank needs to
// receive a segment and pass it on.
TEST(CostModel, SegmentsFollowOneAnother) {
    const double segments = 16, each = 2 * o + N / segments * G;
    EXPECT_NEAR(predicted(Collective::broadcast, "chain", n, "mpi",
                          Bytes{static_cast<std::int64_t>(N / segments)}),
                (P - 1) * (L + each) + (segments - 1) * each, 1e-3);
}

// After the first step a rank's own block is in its input, and what it was sent in its output.
TEST(CostModel, AMessageThatLiesInTwoPlacesIsPacked) {
    LogGpParameters parameters;
    std::fill_n(parameters.ns.begin() + LogGpParameters::begin_of(PerByte::pack),
                footprint_points.size(), 2);
    const auto time = [&](const char* algorithm) {
        return model_of(parameters)
            .predict(configured(algorithm, "mpi"), model_call(Collective::all_gather, 4, 4, 100))
            .value();
    };
    EXPECT_NEAR(time("butterfly"), 2 * 400 * 2, 1e-6);  // two blocks in its second step
    EXPECT_EQ(time("ring"), 0);                         // always one block
}

TEST(CostModel, DirectlyOnlyWhoReadsIsBusy) {
    EXPECT_NEAR(predicted(Collective::all_gather, "ring", n, "shm-direct"),
                (P - 1) * (L + o + N * G), 1e-3);
}

TEST(CostModel, ManyPutTheirBlocksIntoOneAtTheSameTime) {
    EXPECT_NEAR(predicted(Collective::gather, "linear", n, "shm-direct"), o + N * G + L, 1e-3);
}

TEST(CostModel, PushesAComputedChunkToTheRanksThatWaitForIt) {
    LogGpParameters parameters = LogGpParameters::uniform(L, o, G, R);
    const double W = 0.5;
    std::fill_n(parameters.ns.begin() + LogGpParameters::begin_of(PerByte::write),
                footprint_points.size(), W);
    const auto time = model_of(parameters)
                          .predict(configured("two-shot", "shm-direct"),
                                   model_call(Collective::all_reduce, P, P, n));
    // Adds up its chunk from seven peers, then stores it to seven peers, who see that.
    EXPECT_NEAR(time.value(), L + (P - 1) * (o + N / P * R) + (P - 1) * (o + N / P * W) + L, 1e-3);
}

TEST(CostModel, SeveralSourcesAreAddedUpInOnePass) {
    LogGpParameters parameters = LogGpParameters::uniform(L, o, G, R);
    const double A = 0.5;
    std::fill_n(parameters.ns.begin() + LogGpParameters::begin_of(PerByte::add),
                footprint_points.size(), A);
    const auto time = [&](const char* algorithm) {
        return model_of(parameters)
            .predict(configured(algorithm, "shm-direct"),
                     model_call(Collective::all_reduce, P, P, n))
            .value();
    };
    EXPECT_NEAR(time("one-shot"), L + (P - 1) * o + N * R + (P - 2) * N * A, 1e-3);
    EXPECT_NEAR(time("butterfly"), 3 * (L + o + N * R), 1e-3);  // one source in each step
}

TEST(CostModel, OrdinaryMemoryIsStagedOnceForAllReaders) {
    LogGpParameters parameters = LogGpParameters::uniform(L, o, G, R);
    const double S = 0.125;
    std::fill_n(parameters.ns.begin() + LogGpParameters::begin_of(PerByte::send),
                footprint_points.size(), S);
    RoutedCall call = model_call(Collective::broadcast, P, P, 1 << 12);
    call.buffers = BufferKind::unregistered;
    const double bytes = 4.0 * (1 << 12);
    EXPECT_NEAR(model_of(parameters).predict(configured("linear", "shm-direct"), call).value(),
                bytes * S + L + o + bytes * G, 1e-3);
}

TEST(CostModel, RanksOnACoreWorkOneAfterTheOther) {
    const LogGpParameters copies = LogGpParameters::uniform(0, 0, 1, 0);
    const RoutedCall call = model_call(Collective::all_gather, 4, 4, 256);
    const Configuration configuration = configured("one-shot", "shm-direct");
    EXPECT_NEAR(model_of(copies, 4).predict(configuration, call).value(), 3 * 1024, 1e-6);
    EXPECT_NEAR(model_of(copies, 2).predict(configuration, call).value(), 6 * 1024, 1e-6);
    EXPECT_NEAR(model_of(copies, 1).predict(configuration, call).value(), 12 * 1024, 1e-6);
}

TEST(CostModel, ACoreThatChangesRanksTakesTime) {
    LogGpParameters parameters;
    parameters.ns[LogGpParameters::context_switch] = 100;
    const auto time = [&](const char* algorithm, int cores) {
        return model_of(parameters, cores)
            .predict(configured(algorithm, "shm-direct"),
                     model_call(Collective::all_gather, 4, 4, 256))
            .value();
    };
    EXPECT_EQ(time("one-shot", 4), 0);
    EXPECT_EQ(time("one-shot", 2), 2 * 100);  // two ranks, each once
    EXPECT_EQ(time("one-shot", 1), 4 * 100);
    // The last of a step is the first of the next: one context switch less.
    EXPECT_EQ(time("ring", 2), (3 * 2 - 2) * 100);
}

TEST(CostModel, SendsMessagesBetweenHostsThroughTheLink) {
    LogGpParameters across;
    across.ns[LogGpParameters::link] = 2;
    ModelParameters known;
    known.machine.cores = 64;
    known.within["mpi/registered"] = LogGpParameters{};
    known.across["mpi/registered"] = across;
    const RoutedCall call = model_call(Collective::all_to_all, 4, 2, 100);
    // Two ranks have a block of 400 bytes for each of two ranks of the other host.
    EXPECT_NEAR(CostModel(known).predict(configured("linear", "mpi"), call).value(),
                2 * 2 * 400 * 2, 1e-6);
}

TEST(CostModel, ATimeIsMadeOfItsItems) {
    using Terms = LogGpParameters;
    const CostModel model = textbook();
    const auto ring =
        costs_of(model, configured("ring", "mpi"), model_call(Collective::all_reduce, P, P, n));
    const auto share = [&](std::size_t begin, std::size_t end) {
        return share_of(ring, model, begin, end);
    };
    EXPECT_NEAR(share(0, Terms::bytes), 2 * (P - 1) * (L + 2 * o), 1e-3);
    EXPECT_NEAR(share(Terms::begin_of(PerByte::copy), Terms::begin_of(PerByte::reduce)),
                (P - 1) * N / P * G, 1e-3);
    EXPECT_NEAR(share(Terms::begin_of(PerByte::reduce), Terms::begin_of(PerByte::write)),
                (P - 1) * N / P * R, 1e-3);
    EXPECT_NEAR(share(0, Terms::terms), ring.time, 1e-3);

    const CostModel one_core = model_of(LogGpParameters::uniform(0, 0, 1, 0), 1);
    const auto oversubscribed = costs_of(one_core, configured("one-shot", "shm-direct"),
                                         model_call(Collective::all_gather, 4, 4, 256));
    EXPECT_NEAR(oversubscribed.items.ns, 3 * 1024, 1e-6);
    EXPECT_NEAR(oversubscribed.time - oversubscribed.items.ns, 9 * 1024, 1e-6);
}

TEST(CostModel, MoreBytesNeverTakeLess) {
    for (const char* transport : {"mpi", "shm-direct"})
        for (const Algorithm& row : catalog()) {
            if (row.pipelines) continue;  // more segments may well be faster
            if (row.refuses({.collective = row.collective, .ranks = P})) continue;
            double before = 0;
            for (std::int64_t count = 1; count <= 1 << 20; count *= 4) {
                const double now = predicted(row.collective, row.name.data(), count, transport);
                EXPECT_GE(now, before) << row.name << " over " << transport << ", " << count;
                before = now;
            }
        }
}

TEST(CostModel, PredictsNothingWithoutParameters) {
    const RoutedCall call = model_call(Collective::all_reduce, P, P, n);
    Configuration library;
    library.impl = "mpi";
    EXPECT_FALSE(textbook().predict(library, call));
    EXPECT_FALSE(textbook().predict(configured("ring", "ucx"), call));
    EXPECT_FALSE(textbook().predict(configured("of-another-build", "mpi"), call));
    EXPECT_FALSE(
        textbook().predict(configured("ring", "shm"), model_call(Collective::all_reduce, P, 4, n)));
    EXPECT_FALSE(textbook().predict(configured("butterfly", "mpi"),
                                    model_call(Collective::all_to_all, 6, 6, n)));
    EXPECT_FALSE(CostModel().predict(configured("ring", "mpi"), call));
}

TEST(CostModel, OneRankOnlyCopies) {
    LogGpParameters parameters;
    std::fill_n(parameters.ns.begin() + LogGpParameters::begin_of(PerByte::own),
                footprint_points.size(), 0.5);
    EXPECT_NEAR(model_of(parameters)
                    .predict(configured("ring", "mpi"), model_call(Collective::all_reduce, 1, 1, n))
                    .value(),
                N * 0.5, 1e-6);
}

// Work is counted in transfers looked at: a few nanoseconds each.
TEST(CostModel, ThousandRanksAreAFewHundredThousandTransfers) {
    const int ranks = 1024;
    for (const Algorithm& row : catalog()) {
        if (row.refuses({.collective = row.collective, .ranks = ranks})) continue;
        const RoutedCall call = model_call(row.collective, ranks, ranks, 1 << 10);
        for (const char* transport : {"mpi", "shm-direct"}) {
            const std::int64_t visits =
                costs_of(textbook(), configured(std::string(row.name), transport), call).visits;
            EXPECT_GT(visits, 0) << row.name;
            // Steps of all with all have up to a million transfers, and some are only counted.
            EXPECT_LE(visits, 20 * most_visits) << row.name << " of " << name_of(row.collective);
        }
    }
}

TEST(CostModel, ALongScheduleOfWhichOnlySomeStepsAreVisitedTakesAsLong) {
    const int ranks = 1024;
    const RoutedCall call = model_call(Collective::all_reduce, ranks, ranks, 1 << 20);
    const double bytes = 4.0 * (1 << 20);
    const double exact = 2 * (ranks - 1) * (L + 2 * o) + (ranks - 1) * bytes / ranks * (R + G);
    const Configuration ring = configured("ring", "mpi");
    EXPECT_LT(costs_of(textbook(), ring, call).visits, std::int64_t{2} * 2 * (ranks - 1) * ranks);
    EXPECT_NEAR(textbook().predict(ring, call).value() / exact, 1, 0.005);
}

TEST(CostModel, AFewRanksStandForAThousandWhereAllMeetAll) {
    const int ranks = 1024;
    const RoutedCall call = model_call(Collective::all_to_all, ranks, ranks, 256);
    const double exact = (ranks - 1) * (2 * o + 1024 * G) + L;
    EXPECT_NEAR(textbook().predict(configured("linear", "mpi"), call).value() / exact, 1, 0.01);
    // On half as many cores the ranks of a core alternate.
    EXPECT_NEAR(model_of(LogGpParameters::uniform(L, o, G, R), ranks / 2)
                        .predict(configured("linear", "mpi"), call)
                        .value() /
                    exact,
                2, 0.02);
    // Half of the ranks use the link of a host, with a block for each of the others.
    LogGpParameters link;
    link.ns[LogGpParameters::link] = 1;
    const RoutedCall halves = model_call(Collective::all_to_all, ranks, ranks / 2, 256);
    EXPECT_NEAR(
        model_of(link).predict(configured("linear", "mpi"), halves).value() / (512.0 * 512 * 1024),
        1, 0.01);
}

TEST(ScheduleWalk, CountsWhatWasBeforeASampledStepOnce) {
    const int ranks = 512;
    const Call call{.collective = Collective::all_to_all, .count = 1 << 10};
    const Ring ring{ranks};
    // Two steps of one block to a neighbour, then one in which partners swap all blocks one by one.
    const Schedule schedule({ranks, ranks * ranks, 3}, [=](int number, Step& step) {
        for (const Rank from : all_ranks(ranks))
            for (int block = 0; block < (number < 2 ? 1 : ranks); ++block)
                step.copy({.chunks = {from.index * ranks + block, 1},
                           .from = from,
                           .to = number < 2 ? ring.next(from) : Rank{from.index ^ 1}});
    });
    const ExpectedPlan plan{schedule, {TransferMethod::messages}, "any"};
    const LogGpParameters parameters = LogGpParameters::uniform(L, o, G, R);
    CallCosts<double> costs_of(parameters, 1, 0);
    const CoreAssignment assignment(Placement::one_node(ranks), ranks, ranks);
    const double m = 4 << 10;
    const double exact = 2 * (2 * o + L + m * G) + (2 * o + L + ranks * m * G);
    EXPECT_NEAR(ScheduleWalk<double>(plan, call, assignment, costs_of, costs_of).run(), exact,
                1e-3);
}

TEST(CostModel, ChannelsShareTheMessage) {
    // Both channels send to the same neighbour in each step, and nothing else: between one message
    // and two.
    Configuration two = configured("ring", "mpi");
    two.channels = 2;
    const RoutedCall call = model_call(Collective::all_gather, P, P, n);
    const double time = textbook().predict(two, call).value();
    EXPECT_GE(time, (P - 1) * (L + 2 * o + N * G) - 1e-3);
    EXPECT_LE(time, (P - 1) * (L + 4 * o + N * G) + 1e-3);
    for (const Algorithm& row : catalog()) {
        if (row.refuses({.collective = row.collective, .ranks = P})) continue;
        two.algorithm = row.name;
        EXPECT_GT(textbook().predict(two, model_call(row.collective, P, P, n)).value_or(0), 0)
            << row.name;
    }
}

}  // namespace
}  // namespace tutti
