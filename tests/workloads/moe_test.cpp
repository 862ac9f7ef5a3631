// SPDX-License-Identifier: Apache-2.0
// Messages between ranks with experts, dropped tokens, and the rank that computes most.
#include <numeric>

#include "tests/workloads/patterns.hpp"
#include "workloads/models/model_list.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {
namespace {

const Model& mixtral() {
    static const Model model = find_model("mixtral-8x7b").model;
    return model;
}

}  // namespace

TEST(Moe, HandsOverWhatItsFormulaSays) {
    const std::int64_t hidden = 4096, layers = 32, of_expert = 3 * 4096 * 14336LL;
    const std::int64_t dense = mixtral().count() - layers * 8 * of_expert;
    for (int ranks = 2; ranks <= 8; ++ranks)
        for (int e = 1; e <= ranks; ++e) {
            if (ranks % e != 0) continue;
            const MoeRouting routing{.tokens = 64, .skew = 1, .capacity = 1.5};
            const auto made =
                moe_program(mixtral(), {.expert_ranks = e, .routing = routing}, 1'000'000, ranks);
            expect_sound(made.program);
            EXPECT_NO_THROW(ideal_run(made.program, SendMode::blocking));
            const std::int64_t capacity = 24;  // 1.5 * 64 * 2 / 8
            EXPECT_EQ(capacity_of(routing), capacity);
            const std::int64_t places = e * ((8 + e - 1) / e);
            const std::int64_t shared =
                layers * (4 * places * capacity * hidden * 4 + places * 8) + 4 * dense;
            for (const Rank rank : every_rank_of(ranks)) {
                const std::int64_t place = rank.index % e;
                const std::int64_t experts = 8 * (place + 1) / e - 8 * place / e;
                EXPECT_EQ(bytes_of_step(made.program, rank),
                          shared + (e < ranks ? 4 * layers * experts * of_expert : 0))
                    << ranks << " " << e;
            }
        }
}

TEST(Moe, AveragesGradients) {
    const auto made = moe_program(mixtral(), {.expert_ranks = 2}, 1000, 4);
    expect_op(made.program, "dense gradients", Op::avg);
    expect_op(made.program, "gradients of experts", Op::avg);
}

// Where there is room for every choice, experts do the work of all tokens, only elsewhere.
TEST(Moe, ComputesAllOfEveryToken) {
    constexpr int ranks = 4;
    const auto made = moe_program(
        mixtral(), {.expert_ranks = ranks, .routing = {.tokens = 64, .skew = 1, .capacity = 100}},
        1'000'000, ranks);
    std::int64_t all = 0, most = 0;
    for (const Rank rank : every_rank_of(ranks)) {
        const std::int64_t mine = compute_ns_of_step(made.program, rank, 0);
        all += mine;
        most = std::max(most, mine);
    }
    EXPECT_NEAR(static_cast<double>(all), 1e6 * ranks, 500);  // rounded in each layer
    EXPECT_GT(most, 1'000'000);
}

TEST(Moe, ATokenHasDifferentExperts) {
    // With as many choices as experts, each token takes every expert, whatever their popularity.
    const MoeRouting routing{
        .experts = 4, .experts_per_token = 4, .tokens = 100, .skew = 2, .capacity = 4};
    EXPECT_EQ(route(routing, 1, 0).accepted, std::vector<std::int64_t>(4, 100));
}

TEST(Moe, RoutesEveryChoiceOrDropsIt) {
    for (const double skew : {0.0, 0.5, 2.0}) {
        const MoeRouting routing{.tokens = 1000, .skew = skew, .capacity = 1.25};
        const RoutedTokens routed = route(routing, 3, 1);
        const auto accepted =
            std::accumulate(routed.accepted.begin(), routed.accepted.end(), std::int64_t{0});
        EXPECT_EQ(accepted + routed.dropped, 2000);
        EXPECT_LE(std::ranges::max(routed.accepted), capacity_of(routing));
        EXPECT_EQ(routed.accepted, route(routing, 3, 1).accepted)
            << "the same wherever it is asked for";
        EXPECT_NE(routed.accepted, route(routing, 4, 1).accepted);
    }
}

TEST(Moe, DropsAndWaitsMoreTheMoreRoutingIsSkewed) {
    const auto made = [](double skew, double capacity) {
        return moe_program(
            mixtral(),
            {.expert_ranks = 4, .routing = {.tokens = 512, .skew = skew, .capacity = capacity}},
            1'000'000, 4);
    };
    EXPECT_LT(made(0, 1.25).dropped_share, 0.02);
    EXPECT_GT(made(1, 1.25).dropped_share, 0.1);
    EXPECT_EQ(made(2, 100).dropped_share, 0) << "room for all";
    EXPECT_GT(made(2, 100).padding_share, 0.7);  // T places an expert, 2 T of 8 T are taken
    EXPECT_GT(made(2, 100).imbalance, made(0, 100).imbalance);
}

TEST(Moe, RunsWithRightResults) {
    for (const char* expert_ranks : {"0", "2"})
        for (const int ranks : {2, 4})
            expect_right_results("moe", ranks,
                                 {{"scale", "1e-7"},
                                  {"expert-ranks", expert_ranks},
                                  {"tokens", "3"},
                                  {"element", "bfloat16"},
                                  {"step-time", "100us"}});
}

TEST(Moe, RefusesWhatItCannotDoInOneLine) {
    const auto expect = [](int ranks, const char* setting, const char* value, const char* words) {
        expect_refusal("moe", ranks, {{"scale", "1e-7"}, {setting, value}}, words);
    };
    expect(0, "capacity", "0", "--capacity 0");
    expect(0, "zipf", "-1", "--zipf -1");
    expect(0, "expert-ranks", "9", "--expert-ranks 8");
    expect(4, "expert-ranks", "3", "1, 2, 4");
    expect(0, "model", "gpt2", "use mixtral-8x7b");
}

}  // namespace tutti
