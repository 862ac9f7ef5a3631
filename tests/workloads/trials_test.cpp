// SPDX-License-Identifier: Apache-2.0
// Preparation of a checked call, so that a result that the call did not write is wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/base/messages.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

class Nothing final : public Operation {
public:
    void run() override {}
};

// The result of the call before, even of the same data, must not pass for this one's.
TEST(Trial, SpoilsTheWholeResultBeforeACheckedCall) {
    const auto world = world_of_one();
    for (const Collective collective : all_collectives())
        for (const DataType type : {DataType::int8, DataType::float32, DataType::float64}) {
            const Call call{.collective = collective, .type = type, .count = 1000};
            std::vector<std::byte> input(input_bytes(call, 1, Rank{0}));
            std::vector<std::byte> output(output_bytes(call, 1, Rank{0}));
            if (output.empty()) continue;
            const PooledBuffers buffers{.call = {input, output, false}, .writable_input = input};
            Nothing nothing;
            const Trial trial = trial_of(nothing, *world, call, buffers, /*check=*/true);
            trial.prepare(7);
            EXPECT_EQ(trial.count_wrong(7), 1000) << name_of(collective) << " " << name_of(type);
            output = input;  // one rank's call
            EXPECT_EQ(trial.count_wrong(7), 0) << name_of(collective) << " " << name_of(type);
            trial.prepare(7);
            EXPECT_EQ(trial.count_wrong(7), 1000) << name_of(collective) << " " << name_of(type);
        }
}

TEST(Trial, InPlaceHasItsInputWhereTheResultWillBe) {
    const auto world = world_of_one();
    const Call call{.collective = Collective::all_reduce, .count = 100};
    std::vector<std::byte> both(input_bytes(call, 1, Rank{0}));
    const PooledBuffers buffers{.call = {both, both, true}, .writable_input = both};
    Nothing nothing;
    const Trial trial = trial_of(nothing, *world, call, buffers, /*check=*/true);
    trial.prepare(3);
    EXPECT_EQ(trial.count_wrong(3), 0);  // the sum of one
    EXPECT_FALSE(trial.keeps_input);
}

// The root of a gather has all ranks' blocks, whichever rank it is.
TEST(BufferPool, HasRoomForARootInTheMiddle) {
    constexpr int ranks = 3;
    Call call{.collective = Collective::gather, .type = DataType::float32, .count = 10'000};
    for (int root = 0; root < ranks; ++root) {
        call.root = Rank{root};
        const auto block = static_cast<std::size_t>(call.count) * 4;
        EXPECT_GE(BufferPool::bytes_for(call, ranks, false), block + ranks * block) << root;
        EXPECT_GE(BufferPool::bytes_for(call, ranks, true), ranks * block) << root;
    }
}

TEST(BufferPool, HasRoomForTheLongestBlocks) {
    constexpr int ranks = 3;
    const std::int64_t counts[] = {0, 0, 0, 7000, 7000, 7000, 0, 9000, 0};  // rank 1 sends most
    const BlockLengths lengths(counts);
    const Call call{.collective = Collective::all_to_all,
                    .type = DataType::int8,
                    .count = lengths.longest(),
                    .lengths = &lengths};
    EXPECT_GE(BufferPool::bytes_for(call, ranks, false), 21'000U + 16'000U);
    run_as_threads(ranks, 60, [&](World& world) {
        const BufferPool pool(world, BufferPool::bytes_for(call, ranks, false), {});
        const PooledBuffers buffers = pool.buffers_for(call, false, pool.kinds().front());
        EXPECT_EQ(buffers.call.input.size(), world.rank() == Rank{1}   ? 21'000U
                                             : world.rank() == Rank{2} ? 9'000U
                                                                       : 0U);
        EXPECT_EQ(buffers.call.output.size(), world.rank() == Rank{1} ? 16'000U : 7'000U);
    });
}

// Each would fit the machine, both together would not: nothing is allocated then.
TEST(BufferPool, HoldsAllItsKindsAgainstTheMemory) {
    const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    run_as_threads(1, 60, [&](World& world) {
        const Thrown thrown = thrown_by([&] {
            const BufferPool pool(world, memory / 10 * 6,
                                  std::vector{BufferKind::registered, BufferKind::unregistered});
        });
        EXPECT_TRUE(thrown.text.starts_with("no memory")) << thrown.text;
    });
}

}  // namespace
}  // namespace tutti
