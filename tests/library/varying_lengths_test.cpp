// SPDX-License-Identifier: Apache-2.0
// Tests programs whose lengths vary from call to call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>

#include "library/communicator_state.hpp"
#include "tests/autotune/caller.hpp"

namespace tutti {
namespace {

using test::Caller;

// Returns a call with a length from 0 to some segments, mostly close to the slot sizes.
Call random_call(std::mt19937& dice, int ranks) {
    const auto one_of = [&](const auto& all) { return all[dice() % all.size()]; };
    const std::int64_t most = dice() % 20 == 0 ? 17 : 13;
    const std::int64_t around = std::int64_t{1} << dice() % most;
    Call call{.collective = one_of(all_collectives()),
              .type = one_of(all_data_types()),
              .op = one_of(all_ops()),
              .count = std::max<std::int64_t>(0, around + dice() % 5 - 2)};
    if (has_root(call.collective)) call.root.index = static_cast<int>(dice() % as_size(ranks));
    return call;
}

// Random calls in ordinary memory, with different alignments on each rank, and in registered
// memory. Every result is compared with a closed form.
TEST(VaryingLengths, HaveRightResults) {
    constexpr unsigned seed = 7;
    for (const int ranks : {1, 2, 3, 4})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            const auto registered = communicator.allocate_bytes(std::size_t{9} << 20);
            Caller caller(communicator, /*seed=*/world.rank().index);
            std::mt19937 same(seed);
            for (int i = 0; i < 600 && caller.wrong() == 0; ++i) {
                const Call call = random_call(same, ranks);
                switch (same() % 4) {
                    case 0:
                        caller.start(call);
                        caller.wait_for(0);
                        break;
                    case 1:
                        caller.call(call);
                        break;
                    default:
                        caller.call(call, registered);
                }
                EXPECT_EQ(caller.wrong(), 0)
                    << "seed " << seed << ", call " << i << " of " << ranks
                    << " ranks: " << name_of(call.collective) << " " << name_of(call.type) << " "
                    << name_of(call.op) << " root " << call.root.index << " count " << call.count;
            }
        });
}

// Returns the arguments of a call in the same places of memory whatever its length: for all ranks
// `input` and `output`, in place `output` alone.
CallArguments in_places(const Call& call, int ranks, Rank me, std::span<std::byte> input,
                        std::span<std::byte> output, bool in_place) {
    const std::size_t in = input_bytes(call, ranks, me), out = output_bytes(call, ranks, me);
    if (!in_place) return {call, {input.first(in), output.first(out), false}};
    const InPlace at = in_place_offsets(call, ranks, me);
    const auto all = output.first(std::max(at.input + in, at.output + out));
    return {call, {all, all, true}};
}

// Calls that differ in their lengths, mostly within an octave, and return to those of another one.
// In pairs, they differ in type and operation, too, with equally many bytes. Every sixth call runs
// as often as it takes until it is predicted: noted, kept, twice predicted wrongly, four times
// right.
TEST(VaryingLengths, HaveRightResultsInTheSameBuffers) {
    for (const int ranks : {2, 3})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            constexpr std::size_t most = 200 * 8 * 3;
            constexpr int until_predicted = 8;
            std::vector<std::byte> ordinary(2 * most);
            std::mt19937 same(3);
            constexpr std::array types{DataType::float64, DataType::int64, DataType::float32};
            constexpr std::array ops{Op::sum, Op::max, Op::min};
            std::int64_t elements = 0;
            for (const std::span<std::byte> memory :
                 {std::span(ordinary), communicator.allocate_bytes(2 * most)})
                for (const Collective collective : all_collectives())
                    for (int i = 0; i < 60; ++i) {
                        if (i % 2 == 0)
                            elements = static_cast<std::int64_t>(
                                same() % 8 == 0 ? same() % 201 : 33 + same() % 32);
                        const DataType type = types[same() % types.size()];
                        const std::int64_t count =
                            elements * 8 / static_cast<std::int64_t>(size_of(type));
                        const Call call{collective, type, ops[same() % ops.size()], Rank{ranks - 1},
                                        count};
                        const bool in_place = i % 20 >= 10 && collective != Collective::scatter &&
                                              collective != Collective::gather;
                        const Rank me = world.rank();
                        const CheckCase check{collective,
                                              call.type,
                                              call.op,
                                              ranks,
                                              call.root.index,
                                              count,
                                              static_cast<std::uint64_t>(i)};
                        const CallArguments given = in_places(call, ranks, me, memory.first(most),
                                                              memory.subspan(most), in_place);
                        const InPlace at = in_place ? in_place_offsets(call, ranks, me) : InPlace{};
                        const auto output =
                            given.buffers.output.subspan(at.output, output_bytes(call, ranks, me));
                        for (int repeats = i % 6 == 0 ? until_predicted : 1; repeats > 0;
                             --repeats) {
                            poison(output);
                            fill_input(check, me,
                                       (in_place ? memory.subspan(most) : memory)
                                           .subspan(at.input, input_bytes(call, ranks, me)));
                            communicator.run(given);
                            ASSERT_EQ(count_wrong(check, me, output), 0)
                                << name_of(collective) << " of " << count << ", call " << i
                                << " of " << ranks << " ranks";
                        }
                    }
        });
}

// Blocks change their lengths within one object. For rank 0, nothing else changes.
TEST(VaryingLengths, OfBlocksMayChangeInTheirObject) {
    run_as_threads(3, 20, [](World& world) {
        Communicator communicator(world);
        const auto me = as_size(world.rank().index);
        std::vector<std::uint8_t> input(5, static_cast<std::uint8_t>(me)), output(9);
        BlockLengths lengths;
        for (int i = 0; i < 40; ++i) {
            const std::int64_t second = i % 8 < 4 ? 3 : 1;
            const std::array<std::int64_t, 3> counts{5, second, 4 - second};
            lengths.set(counts);
            std::ranges::fill(output, 9);
            communicator.run(
                {{Collective::all_gather, DataType::uint8, Op::sum, Rank{0}, 5, &lengths},
                 {std::as_bytes(std::span(input)).first(as_size(counts[me])),
                  std::as_writable_bytes(std::span(output)), false}});
            std::vector<std::uint8_t> expected(9, 2);
            std::fill_n(expected.begin(), 5 + second, 1);
            std::fill_n(expected.begin(), 5, 0);
            ASSERT_EQ(output, expected) << "call " << i;
        }
    });
}

// Also after calls of other lengths in the same buffers.
TEST(VaryingLengths, AreChecked) {
    run_as_threads(2, 20, [](World& world) {
        Communicator communicator(world);
        std::vector<std::byte> memory(1024);
        const auto run = [&](std::int64_t count, std::size_t input, std::size_t apart,
                             std::size_t output) {
            communicator.run({{Collective::all_reduce, DataType::uint8, Op::sum, Rank{0}, count},
                              {std::span(memory).first(input),
                               std::span(memory).subspan(apart, output), false}});
        };
        for (const std::size_t length : {40U, 40U, 41U, 42U}) run(length, length, 60, length);
        EXPECT_THROW(run(43, 42, 60, 43), Error);
        EXPECT_THROW(run(43, 43, 60, 42), Error);
        try {
            run(61, 61, 60, 61);
            ADD_FAILURE() << "the input ends in the output";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("overlap"));
        }
        // A refused call changes nothing that the last one left for its repetition.
        std::fill_n(memory.begin(), 60, std::byte{1});
        run(42, 42, 60, 42);
        EXPECT_EQ(std::ranges::count(memory, std::byte{2}), 42);
        run(44, 44, 60, 44);
        for (int i = 0; i < 10; ++i) run(44, 44, 60, 44);  // so it is predicted
        EXPECT_THROW(run(44, 43, 60, 44), Error);
        EXPECT_THROW(run(44, 44, 60, 43), Error);
    });
}

std::size_t bytes_in_memory() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * as_size(sysconf(_SC_PAGESIZE));
}

// A new length costs no memory: only a new octave does, and the first thousand calls have all.
TEST(VaryingLengths, KeepTheirMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
    for (const auto& [ranks, calls] : {std::pair{1, 100'000}, std::pair{2, 10'000}})
        run_as_threads(ranks, 20, [calls = calls](World& world) {
            Communicator communicator(world);
            constexpr std::size_t lengths = 100'003;  // a prime: all lengths are different
            std::vector<std::uint8_t> input(lengths), output(lengths);
            std::size_t before = 0;
            for (int call = 0; call < calls; ++call) {
                const std::size_t count = as_size(call) * 40'009 % lengths;
                communicator.all_reduce(std::span(input).first(count),
                                        std::span(output).first(count), Op::max);
                if (call == 1000) before = bytes_in_memory();
            }
            EXPECT_LE(bytes_in_memory(), before + (std::size_t{1} << 20));
        });
}

TEST(VaryingLengths, ShareFewPlans) {
    run_as_threads(2, 20, [](World& world) {
        Communicator::State state(nullptr, world, {});
        std::vector<double> data(5000);
        for (int length = 1; length <= 4096; ++length) {
            const auto bytes = std::as_writable_bytes(std::span(data)).first(8 * as_size(length));
            state.run({{Collective::all_reduce, DataType::float64, Op::sum, Rank{0}, length},
                       {bytes, bytes, /*in_place=*/true}});
        }
        EXPECT_EQ(state.plans.size(), 13U);  // from 8 B to 32 KiB
    });
}

}  // namespace
}  // namespace tutti
