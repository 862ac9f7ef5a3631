// SPDX-License-Identifier: Apache-2.0
// Plans over unregistered memory whose ranks switch buffers between runs, each at any time.
#include <random>

#include "threads.hpp"

namespace tutti {
namespace {

class Rebind : public testing::TestWithParam<std::string_view> {};

// Buffers for a call at any position in their own memory; input and output may even touch.
class Memory {
public:
    Memory(const Call& call, int ranks, Rank me, bool in_place, std::size_t gap) {
        const std::size_t input = input_bytes(call, ranks, me),
                          output = output_bytes(call, ranks, me);
        const auto at = in_place ? in_place_offsets(call, ranks, me)
                                 : InPlace{.input = 8, .output = 8 + input + gap};
        bytes_.resize(std::max(at.input + input, at.output + output) + 64);
        writable_input = std::span(bytes_).subspan(at.input, input);
        buffers = {writable_input, std::span(bytes_).subspan(at.output, output), in_place};
    }

    std::span<std::byte> writable_input;
    CallBuffers buffers;

private:
    std::vector<std::byte> bytes_;
};

// Returns the wrong elements over some runs; before each, this rank may switch to one of several
// buffers.
std::int64_t wrong_elements(Planner& planner, const Algorithm& algorithm, bool in_place,
                            std::mt19937& dice, std::string_view transport) {
    World& world = planner.world();
    const int ranks = world.size();
    const Call call{algorithm.collective, DataType::int32, Op::sum, Rank{ranks - 1}, 301};
    std::vector<std::unique_ptr<Memory>> memory;
    for (const std::size_t gap : {std::size_t{0}, std::size_t{24}, std::size_t{4096}})
        memory.push_back(std::make_unique<Memory>(call, ranks, world.rank(), in_place, gap));
    const auto plan =
        planner.plan({&algorithm, {.transport = std::string(transport), .segment = {256}}}, call,
                     memory[0]->buffers, nullptr);
    EXPECT_TRUE(plan->rebinds());
    std::int64_t wrong = 0;
    for (std::uint64_t run = 0; run < 6; ++run) {
        const Memory& here = *memory[dice() % memory.size()];
        const CheckCase check{call.collective, call.type,  call.op, ranks,
                              ranks - 1,       call.count, run};
        poison(here.buffers.output);
        fill_input(check, world.rank(), here.writable_input);
        plan->rebind(here.buffers);
        plan->run();
        wrong += count_wrong(check, world.rank(), here.buffers.output);
    }
    world.barrier();
    return wrong;
}

void expect_right_in_any_buffers(int ranks, std::string_view transport) {
    run_as_threads(ranks, 20, [&](World& world) {
        Planner planner(world);
        if (planner.refuses(transport)) return;
        std::mt19937 dice(static_cast<unsigned>(world.rank().index));
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
            for (const bool in_place : {false, true})
                EXPECT_EQ(wrong_elements(planner, algorithm, in_place, dice, transport), 0)
                    << name_of(algorithm.collective) << " " << algorithm.name << ", " << ranks
                    << " ranks" << (in_place ? " in place" : "");
        }
    });
}

TEST_P(Rebind, IsRightWhicheverBuffersEachRankTakes) {
    for (const int ranks : {2, 3}) expect_right_in_any_buffers(ranks, GetParam());
}

TEST_P(Rebind, OfMoreRanksIsRightWhicheverBuffersEachRankTakes) {
    for (const int ranks : {1, 4}) expect_right_in_any_buffers(ranks, GetParam());
}

TEST_P(Rebind, RefusesBuffersOfOtherSizes) {
    run_as_threads(2, 20, [&](World& world) {
        Planner planner(world);
        if (planner.refuses(GetParam())) return;
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        std::vector<std::byte> input(800), output(800);
        const Call call{.count = 100};
        const CallBuffers first{std::span(input).first(400), std::span(output).first(400)};
        const auto plan =
            planner.plan({&ring, {.transport = std::string(GetParam())}}, call, first, nullptr);
        EXPECT_THROW(plan->rebind({std::span(input).first(404), first.output}), Error);
        EXPECT_THROW(plan->rebind({first.output, first.output, true}), Error);
        EXPECT_NO_THROW(plan->rebind({std::span(input).last(400), std::span(output).last(400)}));
        world.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, Rebind, testing::ValuesIn(test::transports_of_threads()),
                         test::name_of_transport);
INSTANTIATE_TEST_SUITE_P(Gpus, Rebind, testing::Values("cuda"), test::name_of_transport);

// Ranks that are threads may take over another rank's buffer: then an address changes its owner.
TEST(RebindMapped, IsRightWhereRanksTakeEachOthersBuffers) {
    constexpr int ranks = 3;
    const Call call{.collective = Collective::all_reduce, .count = 301};
    std::vector<std::unique_ptr<Memory>> memory;
    for (const Rank rank : all_ranks(ranks))
        memory.push_back(std::make_unique<Memory>(call, ranks, rank, /*in_place=*/false, 0));
    run_as_threads(ranks, 20, [&](World& world) {
        Planner planner(world);
        const int me = world.rank().index;
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.collective != call.collective ||
                algorithm.refuses({.collective = call.collective, .ranks = ranks}))
                continue;
            const auto plan = planner.plan({&algorithm, {.transport = "shm-mapped"}}, call,
                                           at(memory, me)->buffers, nullptr);
            for (int run = 0; run < 2 * ranks; ++run) {
                const Memory& here = *at(memory, (me + run) % ranks);
                const CheckCase check = check_of(call, ranks, as_size(run));
                poison(here.buffers.output);
                fill_input(check, world.rank(), here.writable_input);
                plan->rebind(here.buffers);
                plan->run();
                EXPECT_EQ(count_wrong(check, world.rank(), here.buffers.output), 0)
                    << algorithm.name << ", run " << run;
                world.barrier();
            }
        }
    });
}

// Several may also read one input, until one of them switches to another.
TEST(RebindMapped, LeavesItsPeersWhereTheyAre) {
    constexpr int ranks = 3;
    const Call call{.collective = Collective::all_reduce, .count = 301};
    const std::vector<float> ones(301, 1), tens(301, 10);
    run_as_threads(ranks, 20, [&](World& world) {
        Planner planner(world);
        std::vector<float> sums(301);
        const auto sum_of = [&](const std::vector<float>& input) {
            return CallBuffers{std::as_bytes(std::span(input)),
                               std::as_writable_bytes(std::span(sums))};
        };
        for (const char* name : {"one-shot", "two-shot", "ring"}) {
            const auto plan =
                planner.plan({&find_algorithm(call.collective, name), {.transport = "shm-mapped"}},
                             call, sum_of(ones), nullptr);
            plan->run();
            EXPECT_EQ(sums, std::vector<float>(301, 3)) << name;
            if (world.is_first()) plan->rebind(sum_of(tens));
            plan->run();
            EXPECT_EQ(sums, std::vector<float>(301, 12)) << name;
            world.barrier();
        }
    });
}

TEST(RebindRegistered, IsRefusedAsPeersKnowThePlaces) {
    run_as_threads(2, 20, [&](World& world) {
        Planner planner(world);
        SharedMemory shared(world, 16384);
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        const CallBuffers buffers{shared.mine().first(4096), shared.mine().subspan(4096, 4096)};
        const auto plan =
            planner.plan({&ring, {.transport = "shm"}}, {.count = 1024}, buffers, &shared);
        EXPECT_FALSE(plan->rebinds());
        EXPECT_NO_THROW(plan->rebind(buffers));
        EXPECT_THROW(plan->rebind({shared.mine().subspan(8192, 4096), buffers.output}), Error);
        world.barrier();
    });
}

}  // namespace
}  // namespace tutti
