// SPDX-License-Identifier: Apache-2.0
// Codecs against closed forms, and all-reduces that compress against the exact sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/compress/codecs.hpp"
#include "workloads/compress/compressed_method.hpp"
#include "workloads/scenarios/program_scenario.hpp"
#include "workloads/steps/compression_error.hpp"

namespace tutti {
namespace {

std::vector<float> gradients(std::size_t count, std::uint64_t seed = 1) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = gradient_like(seed, Rank{0}, static_cast<std::int64_t>(i));
    return values;
}

float as_bf16(float value) {
    BFloat16 narrow;
    float back = 0;
    encode(std::span(&value, 1), std::span(&narrow, 1));
    decode(std::span(&std::as_const(narrow), 1), std::span(&back, 1));
    return back;
}

}  // namespace

TEST(BFloat16Codec, RoundsToNearestAndTiesToEven) {
    EXPECT_EQ(as_bf16(1), 1);
    EXPECT_EQ(as_bf16(1 + 0x1p-8F), 1);               // half way: down to even
    EXPECT_EQ(as_bf16(1 + 0x3p-8F), 1 + 0x1p-6F);     // half way: up to even
    EXPECT_EQ(as_bf16(1 + 0x1.02p-8F), 1 + 0x1p-7F);  // just above it
    EXPECT_EQ(as_bf16(-1 - 0x1.02p-8F), -1 - 0x1p-7F);
    EXPECT_EQ(as_bf16(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(as_bf16(std::bit_cast<float>(0x7f800001u))));
    EXPECT_TRUE(std::signbit(as_bf16(-0.F)));
}

TEST(Codecs, StayWithinTheirRelativeError) {
    const auto from = gradients(10007);
    std::vector<BFloat16> bf16(from.size());
    std::vector<Half> half(from.size());
    std::vector<float> back(from.size());
    encode(from, std::span(bf16));
    decode(std::span<const BFloat16>(bf16), back);
    for (std::size_t i = 0; i < from.size(); ++i)
        ASSERT_LE(std::abs(back[i] - from[i]), std::abs(from[i]) * 0x1p-8F) << i;
    encode(from, std::span(half));
    decode(std::span<const Half>(half), back);
    for (std::size_t i = 0; i < from.size(); ++i)
        ASSERT_LE(std::abs(back[i] - from[i]), std::abs(from[i]) * 0x1p-11F + 0x1p-25F) << i;
}

TEST(Codecs, OfEveryInstructionSetGiveTheSameBits) {
    // All kinds of bits, an odd number of them: what is no number, infinite, subnormal, too large.
    std::vector<float> from;
    for (std::uint64_t i = 0; i < 65537; ++i)
        from.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(i * 0x9e3779b1u)));
    const CodecSet &slow = portable_codecs, &fast = fastest_codecs();
    std::vector<BFloat16> bf16[2]{std::vector<BFloat16>(from.size()),
                                  std::vector<BFloat16>(from.size())};
    std::vector<Half> half[2]{std::vector<Half>(from.size()), std::vector<Half>(from.size())};
    slow.encode_bf16(from.data(), from.size(), bf16[0].data());
    fast.encode_bf16(from.data(), from.size(), bf16[1].data());
    slow.encode_half(from.data(), from.size(), half[0].data());
    fast.encode_half(from.data(), from.size(), half[1].data());
    for (std::size_t i = 0; i < from.size(); ++i) {
        ASSERT_EQ(bf16[0][i].bits, bf16[1][i].bits) << from[i];
        ASSERT_EQ(bf16[0][i].bits, BFloat16(from[i]).bits) << from[i];
        ASSERT_EQ(half[0][i].bits, half[1][i].bits) << from[i];
        float wide[2];
        slow.decode_half(&half[0][i], 1, &wide[0]);
        fast.decode_half(&half[0][i], 1, &wide[1]);
        ASSERT_TRUE(wide[0] == wide[1] || std::isnan(wide[0])) << from[i];
    }
    std::vector<std::int8_t> bytes[2]{std::vector<std::int8_t>(1000),
                                      std::vector<std::int8_t>(1000)};
    for (std::size_t first = 0; first + 1000 <= from.size(); first += 1000) {
        const float scales[2]{slow.encode_int8(&from[first], 1000, bytes[0].data()),
                              fast.encode_int8(&from[first], 1000, bytes[1].data())};
        ASSERT_EQ(std::bit_cast<std::uint32_t>(scales[0]), std::bit_cast<std::uint32_t>(scales[1]));
        ASSERT_EQ(bytes[0], bytes[1]);
    }
}

TEST(Int8Codec, ErrsByAtMostHalfAStepOfItsBlock) {
    for (const std::size_t count : {0UL, 1UL, 1023UL, 1024UL, 1025UL, 5000UL}) {
        const auto from = gradients(count);
        std::vector<std::byte> bytes(int8_bytes(count));
        std::vector<float> back(count), twice(count);
        encode_int8(from, bytes);
        decode_int8(bytes, back);
        twice = back;
        add_int8(bytes, twice);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t block = i / int8_block * int8_block;
            float most = 0;
            for (std::size_t j = block; j < std::min(block + int8_block, count); ++j)
                most = std::max(most, std::abs(from[j]));
            ASSERT_LE(std::abs(back[i] - from[i]), most / 254 * 1.0001F) << i;
            ASSERT_EQ(twice[i], 2 * back[i]);
        }
    }
    std::vector<float> zero(7), back(7, 1.F);
    std::vector<std::byte> bytes(int8_bytes(7));
    encode_int8(zero, bytes);
    decode_int8(bytes, back);
    EXPECT_EQ(back, zero);
}

TEST(TopK, TakesTheLargestAndKeepsTheRest) {
    TopK top(6, ThresholdSearch::exact);
    std::vector<SparseEntry> entries(2);
    top.take(std::vector<float>{1, -5, 2, 3, -3, 0}, entries);
    EXPECT_EQ(entries,
              (std::vector<SparseEntry>{{1, -5}, {3, 3}}));  // the first of those that are equal
    EXPECT_EQ(std::vector<float>(top.residual().begin(), top.residual().end()),
              (std::vector<float>{1, 0, 2, 0, -3, 0}));
    // A residual is sent once it has grown.
    top.take(std::vector<float>{1, 1, 2, 1, 0, 0}, entries);
    EXPECT_EQ(entries, (std::vector<SparseEntry>{{2, 4}, {4, -3}}));
    // Fewer than wanted: nothing is sent that is nothing.
    TopK sparse(4, ThresholdSearch::exact);
    sparse.take(std::vector<float>{0, 0, 7, 0}, entries);
    EXPECT_EQ(entries, (std::vector<SparseEntry>{{2, 7}, {0, 0}}));
}

TEST(TopK, LosesNothing) {
    for (const ThresholdSearch search : {ThresholdSearch::exact, ThresholdSearch::sampled}) {
        constexpr std::size_t count = 100000;
        TopK top(count, search);
        std::vector<SparseEntry> entries(count / 100);
        std::vector<double> given(count), sent(count);
        for (std::uint64_t step = 0; step < 5; ++step) {
            const auto gradient = gradients(count, step);
            top.take(gradient, entries);
            for (std::size_t i = 0; i < count; ++i) given[i] += static_cast<double>(gradient[i]);
            for (const SparseEntry& entry : entries)
                sent[entry.index] += static_cast<double>(entry.value);
        }
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_NEAR(given[i], sent[i] + static_cast<double>(top.residual()[i]), 1e-8) << i;
    }
}

TEST(TopK, BySampleTakesNearlyAsManyNearlyAsLarge) {
    constexpr std::size_t count = 1'000'000, wanted = 10'000;
    const auto gradient = gradients(count);
    double energy[2] = {};
    std::size_t taken[2] = {};
    for (const ThresholdSearch search : {ThresholdSearch::exact, ThresholdSearch::sampled}) {
        TopK top(count, search);
        std::vector<SparseEntry> entries(wanted);
        top.take(gradient, entries);
        const int at = search == ThresholdSearch::exact ? 0 : 1;
        for (const SparseEntry& entry : entries) {
            energy[at] += static_cast<double>(entry.value * entry.value);
            taken[at] += entry.value != 0 ? 1 : 0;
        }
    }
    EXPECT_EQ(taken[0], wanted);
    EXPECT_GT(taken[1], wanted * 3 / 4);
    EXPECT_GT(energy[1], 0.9 * energy[0]);
    // And the numbers are spread as gradients are.
    double all = 0;
    for (const float value : gradient) all += static_cast<double>(value * value);
    EXPECT_GT(energy[0] / all, 0.35);
    EXPECT_LT(energy[0] / all, 0.58);
}

TEST(Compression, IsReadAndPrintedByName) {
    for (const char* name : {"none", "bf16", "fp16", "int8", "topk:1%", "topk:0.1%:sampled"})
        EXPECT_EQ(name_of(parse_compression(name)), name);
    EXPECT_EQ(parse_compressions("none,bf16,topk:1%,bf16").size(), 2U);
    for (const char* wrong : {"", "zip", "bf16:1", "topk", "topk:0", "topk:200%", "topk:1%:guess"})
        EXPECT_THROW(parse_compressions(wrong), Error) << wrong;
}

namespace {

// One all-reduce of `count` in a step, in all methods, on `ranks` threads.
std::vector<TrainingStep> measured(int ranks, std::int64_t count, Op op, bool in_place,
                                   const std::string& compressions) {
    Program program{.name = "sum",
                    .groups = {every_rank_of(ranks)},
                    .calls = {},
                    .tasks = std::vector<std::vector<Task>>(static_cast<std::size_t>(ranks))};
    for (int i = 0; i < 3; ++i)  // under way at the same time
        program.add_call({.label = "sum",
                          .group = 0,
                          .call = {.op = op, .count = count + i},
                          .in_place = in_place});
    const int exact = program.add_call(
        {.label = "exact", .group = 0, .call = {.type = DataType::int32, .count = 5}});
    for (const Rank rank : every_rank_of(ranks)) {
        for (int call = 0; call <= exact; ++call) program.start(rank, call, Task::Phase::backward);
        for (int call = exact; call >= 0; --call) program.wait(rank, call, Task::Phase::backward);
    }
    std::vector<TrainingStep> steps;
    run_as_threads(ranks, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = scenario_of(program, {}, {}, {.planner = planner});
        const auto methods = with_compressed(
            methods_named(
                {.algorithms = {"ring"}, .transports = {"loopback", "shm"}, .baselines = {"none"}}),
            parse_compressions(compressions));
        StepProtocol protocol{.min_rounds = 3, .max_rounds = 3};
        auto mine = run_scenario(world, *scenario, methods, protocol);
        if (world.is_first()) steps = std::move(mine);
    });
    return steps;
}

double metric(const TrainingStep& step, const std::string& name) {
    for (const Metric& one : step.metrics)
        if (one.name == name) return one.value;
    ADD_FAILURE() << step.key.method << " has no " << name;
    return -1;
}

}  // namespace

TEST(CompressedAllReduce, IsNearTheSumAndSavesWhatTheFormulaSays) {
    struct Case {
        int ranks;
        Op op;
        bool in_place;
    };
    for (const auto& [ranks, op, in_place] :
         {Case{1, Op::avg, true}, Case{2, Op::sum, true}, Case{3, Op::avg, false},
          Case{4, Op::sum, false}, Case{4, Op::avg, true}}) {
        const auto steps =
            measured(ranks, 20000, op, in_place, "bf16,fp16,int8,topk:1%,topk:1%:sampled");
        ASSERT_EQ(steps.size(), 2U * 6);
        for (const TrainingStep& step : steps) {
            ASSERT_FALSE(step.skipped) << step.key.method << *step.skipped;
            const std::string& method = step.key.method;
            const std::string name = method.substr(std::min(method.find('+'), method.size()));
            if (name.empty()) {
                EXPECT_EQ(step.check.state, CheckState::ok) << method;
                continue;
            }
            EXPECT_EQ(step.check.state, CheckState::skipped) << method;
            EXPECT_EQ(step.step.n, 3U);
            const double error = metric(step, "error");
            const double saved = metric(step, "bytes_saved");
            EXPECT_GT(error, 0) << method;
            EXPECT_GT(metric(step, "compress_ms"), 0) << method;
            const auto expect_saved = [&](double share, double about) {
                EXPECT_NEAR(saved, ranks == 1 ? 0 : share, about) << method;
            };
            if (name == "+bf16") {
                EXPECT_LT(error, 0x1p-9 * ranks) << method;
                expect_saved(0.5, 1e-9);
            } else if (name == "+fp16") {
                EXPECT_LT(error, 0x1p-11 * ranks) << method;
                expect_saved(0.5, 1e-9);
            } else if (name == "+int8") {
                EXPECT_LT(error, 0.05) << method;
                expect_saved(0.75, 0.01);
            } else {
                EXPECT_GT(error, 0.5) << method;
                EXPECT_LT(error, 0.85) << method;
                // (P-1) 8 k against 2 (P-1)/P 4 n
                expect_saved(1 - 0.01 * ranks, 1e-3);
                // Independent supports: 1 - (1-d)^P.
                EXPECT_NEAR(metric(step, "union_share"), 1 - std::pow(0.99, ranks), 3e-3) << method;
                EXPECT_LT(metric(step, "error_10_steps"), 0.75 * error) << method;
            }
        }
    }
}

// Rows and columns of a grid, waited for in opposite orders: a second collective must not wait for
// a rank that waits in another group.
TEST(CompressedAllReduce, GoesOnInGroupsAtTheSameTime) {
    Program program{
        .name = "grid",
        .groups = {{Rank{0}, Rank{1}}, {Rank{2}, Rank{3}}, {Rank{0}, Rank{2}}, {Rank{1}, Rank{3}}},
        .calls = {},
        .tasks = std::vector<std::vector<Task>>(4)};
    for (int group = 0; group < 4; ++group)
        program.add_call({.label = "sum", .group = group, .call = {.count = 5000}});
    for (const Rank rank : every_rank_of(4)) {
        std::vector<int> mine;
        for (int group = 0; group < 4; ++group)
            if (place_in(at(program.groups, group), rank) >= 0) mine.push_back(group);
        for (const int call : mine) program.start(rank, call, Task::Phase::backward);
        if (rank.index % 2 == 1) std::ranges::reverse(mine);
        for (const int call : mine) program.wait(rank, call, Task::Phase::backward);
    }
    run_as_threads(4, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = scenario_of(program, {}, {}, {.planner = planner});
        const auto methods = with_compressed(
            methods_named({.algorithms = {"ring"}, .transports = {"shm"}, .baselines = {"none"}}),
            parse_compressions("bf16,int8,topk:10%"));
        for (const TrainingStep& step :
             run_scenario(world, *scenario, methods, {.min_rounds = 3, .max_rounds = 3})) {
            EXPECT_FALSE(step.skipped) << step.key.method;
            // All report what can be hidden; the rest is of those that compress.
            EXPECT_EQ(step.metrics.size() == 1, step.key.method == "ring/shm");
        }
    });
}

TEST(CompressedAllReduce, LeavesOthersAsTheyAre) {
    const Call sum{.count = 10};
    EXPECT_TRUE(is_compressible(sum));
    for (const auto& change : std::vector<std::function<void(Call&)>>{
             [](Call& call) { call.op = Op::max; }, [](Call& call) { call.count = 0; },
             [](Call& call) { call.type = DataType::float64; },
             [](Call& call) { call.collective = Collective::broadcast; }}) {
        Call other = sum;
        change(other);
        EXPECT_FALSE(is_compressible(other));
    }
    // Fewer elements than ranks, and some parts empty.
    for (const TrainingStep& step : measured(4, 1, Op::sum, true, "bf16,int8,topk:100%"))
        EXPECT_FALSE(step.skipped) << step.key.method;
}

}  // namespace tutti
