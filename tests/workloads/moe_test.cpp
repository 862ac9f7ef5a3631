// SPDX-License-Identifier: Apache-2.0
// Messages between ranks with experts, dropped tokens, and the rank that computes most.
#include <fstream>
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

namespace {

constexpr std::int64_t layers = 32, hidden = 4096, of_float = 4;

// Three layers that the 32 of the model take by turns, so that routing repeats after three steps.
const CountMatrices& three_layers() {
    static const CountMatrices read = parse_count_matrices(
        "0 5 1\n2 0 0\n3 3 0\n\n9 0 0\n0 9 0\n6 0 3\n\n1 1 1\n0 0 0\n0 6 6\n", "three");
    return read;
}
const std::int64_t sent[] = {18, 11, 27},
                   received[] = {21, 24, 11};  // in all three layers, by rank

MoeShape recorded_shape(const CountMatrices& recorded, int expert_ranks,
                        Blocks blocks = Blocks::exact) {
    return {.expert_ranks = expert_ranks, .blocks = blocks, .recorded = &recorded};
}

std::int64_t bytes_of_routing(const Program& program, Rank rank) {
    std::int64_t bytes = bytes_of_step(program, rank);
    for (const GroupCall& one : program.calls)
        if (one.call.collective == Collective::all_reduce) bytes -= one.call.count * of_float;
    return bytes;
}

}  // namespace

TEST(Moe, SendsTheRecordedTokensAndNoMore) {
    const auto made = moe_program(mixtral(), recorded_shape(three_layers(), 3), 1'000'000, 3);
    expect_sound(made.program);
    EXPECT_EQ(made.steps, 3U);
    EXPECT_EQ(made.padding_share, 0);
    for (const Rank rank : every_rank_of(3)) {
        // Over three steps each layer has each of the matrices once, twice there and twice back.
        const std::int64_t tokens = 2 * (at(sent, rank) + at(received, rank));
        const std::int64_t three_steps = bytes_of_routing(made.program, rank) - layers * 3 * 8;
        EXPECT_NEAR(static_cast<double>(3 * three_steps),
                    static_cast<double>(layers * tokens * hidden * of_float), 3 * 4 * layers)
            << rank.index;  // the mean of a call is rounded to bytes
    }
}

TEST(Moe, PadsARecordingToTheLongestBlockOfALayer) {
    const auto made =
        moe_program(mixtral(), recorded_shape(three_layers(), 3, Blocks::padded), 1'000'000, 3);
    const std::int64_t longest = 5 + 9 + 6, of_experts = 3 * 3 * 8;
    for (const Rank rank : every_rank_of(3))
        EXPECT_EQ(bytes_of_routing(made.program, rank) - layers * of_experts,
                  layers * (4 * 3 * longest * hidden * of_float) / 3);
    EXPECT_DOUBLE_EQ(made.padding_share, 1 - 56. / (9. * longest));
}

TEST(Moe, SendsEachTokenBackToItsRank) {
    const auto made = moe_program(mixtral(), recorded_shape(three_layers(), 3), 0, 3);
    for (const GroupCall& one : made.program.calls) {
        if (!one.label.starts_with("dispatch ") && !one.label.starts_with("combine ")) continue;
        const bool is_back = one.label.starts_with("combine");
        ASSERT_EQ(one.of_steps.size(), 3U);
        const std::int64_t layer = std::stoll(one.label.substr(one.label.find(' ')));
        for (std::int64_t step = 0; step < 3; ++step) {
            const auto& matrix = at(three_layers().matrices, (step * layers + layer - 1) % 3);
            for (int from = 0; from < 3; ++from)
                for (int to = 0; to < 3; ++to)
                    EXPECT_EQ(one.in_step(step).lengths->of(from * 3 + to),
                              hidden * at(matrix, is_back ? to * 3 + from : from * 3 + to))
                        << one.label << " " << step;
        }
    }
}

TEST(Moe, ComputesForTheTokensThatArrive) {
    const auto recorded = parse_count_matrices("4 0\n4 0\n", "one layer");
    const auto made = moe_program(mixtral(), recorded_shape(recorded, 2), 1'000'000, 2);
    const auto idle = moe_program(
        mixtral(), recorded_shape(parse_count_matrices("2 2\n2 2\n", ""), 2), 1'000'000, 2);
    const auto ns_of = [](const MoeProgram& of, int rank) {
        return compute_ns_of_step(of.program, Rank{rank}, 0);
    };
    EXPECT_GT(made.imbalance, 1.5);
    EXPECT_DOUBLE_EQ(idle.imbalance, 1);
    EXPECT_NEAR(static_cast<double>(ns_of(made, 0) - ns_of(idle, 0)),
                static_cast<double>(ns_of(idle, 0) - ns_of(made, 1)), 500);  // rounded in layers
}

TEST(Moe, AddsUpTheExpertsOfARank) {
    // 4 ranks in two blocks; a column for each of 8 experts.
    const auto recorded = parse_count_matrices(
        "1 2 3 4 5 6 7 8\n0 0 0 1 0 0 0 2\n9 0 0 0 0 0 0 0\n0 0 0 0 0 0 0 9\n", "experts");
    const auto made = moe_program(mixtral(), recorded_shape(recorded, 2), 0, 4);
    expect_sound(made.program);
    EXPECT_EQ(made.steps, 1U);
    for (const GroupCall& one : made.program.calls) {
        if (one.label != "dispatch 7") continue;
        const std::int64_t of_blocks[2][4] = {{10, 26, 1, 2}, {9, 0, 0, 9}};
        const bool is_first = at(made.program.groups, one.group).front() == Rank{0};
        for (int pair = 0; pair < 4; ++pair)
            EXPECT_EQ(one.call.lengths->of(pair), hidden * of_blocks[is_first ? 0 : 1][pair]);
    }
}

TEST(Moe, RunsRecordedRoutingWithRightResults) {
    const std::string file = testing::TempDir() + "tutti_moe_routing";
    std::ofstream(file) << "[[[3, 0], [1, 2]], [[0, 0], [0, 0]], [[0, 7], [0, 1]]]";
    expect_right_results("moe", 2, {{"scale", "1e-7"}, {"routing", file}, {"step-time", "100us"}});
    std::ofstream(file) << "5\n";
    expect_right_results("moe", 1, {{"scale", "1e-7"}, {"routing", file}, {"step-time", "100us"}});
    std::remove(file.c_str());
}

TEST(Moe, SendsDrawnTokensWithoutPadding) {
    const MoeRouting routing{.tokens = 64, .skew = 1, .capacity = 1.5};
    MoeShape shape{.expert_ranks = 2, .routing = routing};
    const auto padded = moe_program(mixtral(), shape, 1'000'000, 2);
    shape.blocks = Blocks::exact;
    const auto exact = moe_program(mixtral(), shape, 1'000'000, 2);
    EXPECT_EQ(exact.dropped_share, padded.dropped_share);
    EXPECT_EQ(exact.padding_share, 0);
    std::int64_t of_exact = 0, of_padded = 0;
    for (const Rank rank : every_rank_of(2)) {
        of_exact += bytes_of_routing(exact.program, rank) - layers * 8 * 8;
        of_padded += bytes_of_routing(padded.program, rank) - layers * 2 * 4 * 8;
    }
    EXPECT_NEAR(static_cast<double>(of_exact) / static_cast<double>(of_padded),
                1 - padded.padding_share, 1e-9);
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
    expect(0, "padding", "some", "--padding some");
    expect(0, "routing", "/nowhere", "--routing");
    const std::string file = testing::TempDir() + "tutti_moe_refused";
    std::ofstream(file) << "1 2 3\n4 5 6\n";
    expect(2, "routing", file.c_str(), "2 rows and 3 columns");
    EXPECT_TRUE(holds(refusal_of("moe", 0, {{"routing", file}, {"zipf", "1"}}), "--zipf"));
    std::remove(file.c_str());
}

}  // namespace tutti
