// SPDX-License-Identifier: Apache-2.0
// Plans for devices: how they are cut and distributed to blocks, and how they end when a rank
// stops.
// That they are correct for each algorithm is tested by execute_test over cuda-emulated.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "checked_plan.hpp"
#include "collectives/execute/device/device_draft.hpp"

namespace tutti {
namespace {

TEST(DeviceStop, IsTheSameInAWord) {
    for (const DeviceStop stop : {DeviceStop{0, 0, 0}, {3, 12, 2}, {32767, 1 << 30, 65535}}) {
        const auto read = stop_in(to_word(stop));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->rank, stop.rank);
        EXPECT_EQ(read->step, stop.step);
        EXPECT_EQ(read->peer, stop.peer);
    }
    EXPECT_FALSE(stop_in(0));
}

TEST(Touched, KnowsWhatOverlaps) {
    std::byte memory[100] = {};
    Touched touched;
    touched.add(memory + 10, 10);
    touched.add(memory + 30, 10);
    EXPECT_FALSE(touched.overlaps(memory, 10));
    EXPECT_TRUE(touched.overlaps(memory, 11));
    EXPECT_TRUE(touched.overlaps(memory + 19, 1));
    EXPECT_FALSE(touched.overlaps(memory + 20, 10));
    EXPECT_TRUE(touched.overlaps(memory + 5, 90));
    touched.add(memory + 15, 20);  // both become one
    EXPECT_TRUE(touched.overlaps(memory + 25, 1));
    EXPECT_FALSE(touched.overlaps(memory + 40, 60));
}

class Dealing : public testing::Test {
protected:
    void move(std::size_t to, std::size_t from, std::size_t bytes) {
        const Moves::Operand out{memory_.data() + to};
        const Moves::Operand source{memory_.data() + from};
        draft_.add_move({&out, 1}, {&source, 1}, bytes);
    }

    // Returns for each byte that is written in a phase (from 1) the blocks that write it.
    std::map<std::size_t, std::vector<unsigned>> writers(unsigned blocks, std::size_t grain,
                                                         std::size_t phase) {
        std::vector<std::byte> image_memory;
        const DeviceImage image =
            image_of(draft_, Rank{0}, blocks, grain, nullptr, [&](std::size_t bytes) {
                image_memory.resize(bytes);
                return image_memory.data();
            });
        EXPECT_LE(image.bytes.size(), image_memory.size());
        std::copy(image.bytes.begin(), image.bytes.end(), image_memory.begin());
        std::map<std::size_t, std::vector<unsigned>> all;
        const auto* programs =
            reinterpret_cast<const DeviceProgram*>(image_memory.data() + image.programs);
        for (unsigned block = 0; block < blocks; ++block) {
            const DeviceProgram& program = programs[block];
            EXPECT_EQ(program.phases_count, draft_.phases.size());
            EXPECT_LE(phase, program.phases_count);
            for (auto i = program.phases[phase - 1].moves_end; i < program.phases[phase].moves_end;
                 ++i) {
                const DeviceMove& move = program.moves[i];
                const std::byte* out = program.outs[move.first_out];
                const auto at = static_cast<std::size_t>(out - memory_.data());
                for (std::size_t byte = 0; byte < move.bytes; ++byte)
                    all[at + byte].push_back(block);
            }
        }
        return all;
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(100'000);
    DeviceDraft draft_{DataType::float32, Op::sum};
};

TEST_F(Dealing, GivesEachByteToOneBlockAndEachBlockAsMuch) {
    for (const std::size_t bytes : {1, 15, 16, 17, 1000, 4096, 40'000}) {
        draft_ = DeviceDraft{DataType::float32, Op::sum};
        move(0, 50'000, bytes);
        draft_.end_phase(0);
        const auto written = writers(/*blocks=*/4, /*grain=*/256, 1);
        ASSERT_EQ(written.size(), bytes);
        std::map<unsigned, std::size_t> of_block;
        for (const auto& [at, blocks] : written) {
            ASSERT_EQ(blocks.size(), 1u) << at;
            ++of_block[blocks.front()];
        }
        EXPECT_EQ(of_block.size(), std::clamp<std::size_t>(bytes / 256, 1, 4));
        for (const auto& [block, share] : of_block)
            EXPECT_NEAR(static_cast<double>(share),
                        static_cast<double>(bytes) / static_cast<double>(of_block.size()), 16);
    }
}

TEST_F(Dealing, GivesSmallMovesToOneBlockEachInTurn) {
    for (std::size_t i = 0; i < 4; ++i) move(i * 1000, 50'000 + i * 1000, 100);
    draft_.end_phase(0);
    const auto written = writers(/*blocks=*/4, /*grain=*/256, 1);
    for (unsigned i = 0; i < 4; ++i)
        for (std::size_t byte = 0; byte < 100; ++byte)
            EXPECT_EQ(written.at(i * 1000 + byte), std::vector<unsigned>{i});
}

// On the host moves are executed in order; blocks of a phase have no order.
TEST_F(Dealing, PutsMovesThatTouchTheSameMemoryIntoPhasesOfTheirOwn) {
    move(0, 1000, 100);
    move(2000, 3000, 100);
    EXPECT_EQ(draft_.phases.size(), 0u);
    move(4000, 50, 100);  // reads what the first writes
    EXPECT_EQ(draft_.phases.size(), 1u);
    move(3050, 6000, 10);  // writes what the second read: that is another phase by now
    EXPECT_EQ(draft_.phases.size(), 1u);
    move(100, 6000, 10);  // writes what the third reads
    EXPECT_EQ(draft_.phases.size(), 2u);
    for (const DevicePhase& phase : draft_.phases) EXPECT_EQ(phase.finished, DevicePhase::nothing);
}

// Returns the error of a run; none if it does not end in an error.
std::optional<Error> error_of(int ranks, const Fault& fault, std::string_view algorithm,
                              std::int64_t count, double seconds = 1) {
    try {
        run_as_threads(ranks, 20, [&](World& world) {
            Planner planner(world, fault);
            test::CheckedPlan checked(planner, "cuda-emulated",
                                      find_algorithm(Collective::all_reduce, algorithm), count);
            world.barrier();
            world.hang_timeout = seconds;
            checked.start();
            checked.wait();
        });
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

TEST(AStoppedRank, EndsInATimeOutThatNamesRankStepAndPeer) {
    for (const std::int64_t count : {20, 4000})  // by lines, and by counters
        for (const char* algorithm : {"ring", "two-shot", "tree", "butterfly"}) {
            const auto error = error_of(4, parse_fault("stop:from=2"), algorithm, count);
            ASSERT_TRUE(error) << algorithm;
            EXPECT_EQ(error->code(), Exit::time_out) << error->what();
            EXPECT_TRUE(std::regex_match(
                error->what(),
                std::regex("rank [013] waited 1 s in all_reduce " + std::string(algorithm) +
                           " .*, step [0-9]+ of [0-9]+, .* [0-3]")))
                << error->what();
        }
}

TEST(AStoppedRank, IsNamedWhereAllWaitForItOnly) {
    // All must have started by then, even on a busy machine.
    const auto error = error_of(3, parse_fault("stop:from=1"), "one-shot", 4000, 2);
    ASSERT_TRUE(error);
    EXPECT_TRUE(std::regex_match(error->what(), std::regex("rank [02] .*for rank 1")))
        << error->what();
}

TEST(AnEmulatedDevice, KnowsOneFault) {
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world, parse_fault("drop"));
        EXPECT_THROW(planner.refuses("cuda-emulated"), Error);
    });
}

TEST(BuffersOnADevice, AreReachedByItsOwnTransportAndByMessages) {
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world);
        const auto memory = planner.registered_memory("cuda-emulated", 8000);
        auto* const values = reinterpret_cast<float*>(memory->mine().data());
        const Call call{.count = 1000};
        const CallBuffers buffers{memory->mine().first(4000), memory->mine().last(4000)};
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        for (const char* transport : {"cuda-emulated", "shm", "loopback"}) {
            EXPECT_EQ(planner.refuses(transport, BufferKind::device, memory.get()), std::nullopt);
            std::fill_n(values, 1000, 21.0F);
            planner
                .plan({&ring, {.transport = std::string(transport)}}, call, buffers, memory.get())
                ->run();
            EXPECT_EQ(std::count(values + 1000, values + 2000, 42.0F), 1000) << transport;
            world.barrier();
        }
        for (const char* other : {"shm-direct"}) {
            EXPECT_NE(planner.refuses(other, BufferKind::device, memory.get()), std::nullopt);
            EXPECT_THROW(planner.plan({&ring, {.transport = std::string(other)}}, call, buffers,
                                      memory.get()),
                         Error);
        }
        world.barrier();
    });
}

TEST(PinnedMemory, IsOfTransportsThatHaveDevices) {
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world);
        const auto memory = planner.pinned_memory("cuda-emulated", 8000);
        std::fill_n(memory.get(), 8000, std::byte{1});
        EXPECT_THROW(planner.pinned_memory("loopback", 8000), Error);
        world.barrier();
    });
}

// Sums of sums: in place each run adds up the result of the previous one.
TEST(RepeatedRuns, AreOneStart) {
    run_as_threads(3, 20, [](World& world) {
        for (const std::int64_t count : {3, 1000}) {
            Planner planner(world);
            planner.repeat_on_devices(4);
            const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
            const auto memory = planner.registered_memory("cuda-emulated", bytes);
            auto* values = reinterpret_cast<float*>(memory->mine().data());
            std::fill_n(values, count, 1.0F);
            const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
            const auto plan =
                planner.plan({&ring, {.transport = "cuda-emulated"}}, {.count = count},
                             {memory->mine(), memory->mine(), true}, memory.get());
            plan->run();
            for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], 81.0F);
            plan->run();
            for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], 81.0F * 81.0F);
            world.barrier();
        }
    });
}

}  // namespace
}  // namespace tutti
