// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "autotune/search/caching_evaluator.hpp"
#include "autotune/search/search.hpp"
#include "counting_evaluator.hpp"
#include "tests/autotune/model_subjects.hpp"

namespace tutti {
namespace {

ModelMachine two_arms() {
    ModelMachine machine;
    machine.add({.family = 0, .level = {}}, [](Bytes) { return 100; });
    machine.add({.family = 1, .level = {}}, [](Bytes) { return 200; });
    return machine;
}

constexpr int both[] = {0, 1};

TEST(CachingEvaluator, AnswersFromTheCacheAndMeasuresTheRestOnly) {
    ModelMachine machine = two_arms();
    const std::vector<CachedSamples> cached = {
        {Bytes{8}, 0, {1, 2}}, {Bytes{8}, 0, {3}}, {Bytes{8}, 1, {7}}};
    std::vector<CachedSamples> fresh;
    CachingEvaluator evaluator(machine, cached,
                               [&](const CachedSamples& k) { fresh.push_back(k); });
    const auto first = evaluator.race(Bytes{8}, both, 1);
    EXPECT_EQ(first[0], std::vector<double>{1});
    EXPECT_EQ(first[1], std::vector<double>{7});
    EXPECT_EQ(machine.samples(), 0);
    const auto second = evaluator.race(Bytes{8}, both, 2);
    EXPECT_EQ(second[0], (std::vector<double>{2, 3}));
    EXPECT_EQ(second[1].size(), 2U);
    EXPECT_EQ(machine.samples(), 2);  // arm 1's alone
    ASSERT_EQ(fresh.size(), 1U);
    EXPECT_EQ(fresh[0].arm, 1);
    EXPECT_EQ(fresh[0].samples_ns, second[1]);
}

TEST(CachingEvaluator, IsNotOverWhileItsMemoryAnswers) {
    ModelMachine machine = two_arms();
    machine.end_after(0);
    const std::vector<CachedSamples> cached = {{Bytes{8}, 0, {1}}, {Bytes{8}, 1, {7}}};
    CachingEvaluator evaluator(machine, cached, nullptr);
    EXPECT_FALSE(evaluator.is_over());
    EXPECT_EQ(evaluator.race(Bytes{8}, both, 1)[1].size(), 1U);
    EXPECT_FALSE(evaluator.is_over());
    EXPECT_TRUE(evaluator.race(Bytes{8}, both, 1)[1].empty());
    EXPECT_TRUE(evaluator.is_over());
}

TEST(CachingEvaluator, AnInterruptedSearchEndsAsIfItHadNotBeen) {
    // Without a drift the k-th sample is the same whenever it is drawn.
    const Weather weather{.drift = 0, .seed = 3};
    const std::vector<Bytes> sizes = twenty_sizes();
    ModelMachine whole = planted_machine(10, 1, 3);
    whole.set(weather);
    const std::vector<Finding> expected = search(whole, sizes, {});

    for (const double share : {0.01, 0.1, 0.35, 0.6, 0.95}) {
        std::vector<CachedSamples> cached;
        const auto keep = [&](const CachedSamples& samples) { cached.push_back(samples); };
        ModelMachine machine = planted_machine(10, 1, 3);
        machine.set(weather);
        machine.end_after(share * whole.seconds());
        CachingEvaluator first(machine, {}, keep);
        search(first, sizes, {});
        ASSERT_LT(machine.samples(), whole.samples());

        machine.end_after(1e9);
        const std::vector<CachedSamples> before = cached;
        CachingEvaluator second(machine, before, keep);
        const std::vector<Finding> resumed = search(second, sizes, {});
        // A race that was cut off in the middle of a repetition is completed by whole repetitions.
        EXPECT_LE(machine.samples(),
                  whole.samples() + static_cast<std::int64_t>(machine.arms().size()));
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            EXPECT_EQ(resumed[i].winner, expected[i].winner);
            EXPECT_EQ(resumed[i].doubt, expected[i].doubt);
            ASSERT_EQ(resumed[i].entries.size(), expected[i].entries.size());
            for (std::size_t k = 0; k < expected[i].entries.size(); ++k)
                EXPECT_EQ(resumed[i].entries[k].samples_ns, expected[i].entries[k].samples_ns);
        }
    }
}

TEST(RacedSamples, PutsFirstWhoHasTheLeastMedianOfAllRacesAndLeavesOpenWhatHasNotRaced) {
    RacedSamples raced;
    raced.add({Bytes{8}, 0, {10, 30}});
    raced.add({Bytes{8}, 1, {20, 20}});
    raced.add({Bytes{8}, 2, {}});
    raced.add({Bytes{8}, 0, {40}});
    const std::vector<Bytes> sizes{Bytes{8}, Bytes{16}};
    const std::vector<Finding> findings = raced.findings(sizes);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].winner, 1);
    ASSERT_EQ(findings[0].entries.size(), 2u);
    EXPECT_EQ(findings[0].entries[1].samples_ns, (std::vector<double>{10, 30, 40}));
    EXPECT_EQ(findings[1].winner, -1);
    EXPECT_FALSE(findings[1].measured);
}

}  // namespace

}  // namespace tutti
