// SPDX-License-Identifier: Apache-2.0
// How the planner chooses segments and memory.
#include "collectives/planner/planner.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/index.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

TEST(Segments, AreAsManyAsTheVectorNeedsUpTo256) {
    const auto segments = [](std::int64_t vector, std::int64_t segment) {
        return segments_for(Bytes{vector}, Bytes{segment});
    };
    EXPECT_EQ(segments(0, 1024), 1);
    EXPECT_EQ(segments(1, 1024), 1);
    EXPECT_EQ(segments(1024, 1024), 1);
    EXPECT_EQ(segments(1025, 1024), 2);  // none is longer than requested
    EXPECT_EQ(segments(8 * 1024, 1024), 8);
    EXPECT_EQ(segments(256 * 1024, 1024), 256);
    EXPECT_EQ(segments(1 << 30, 1024), 256);
    EXPECT_EQ(segments(100, 0), 100);
}

// Each channel cuts its share of the vector.
TEST(Segments, OfAChannelAreThoseOfItsShare) {
    const auto segments = [](int channels) {
        Choice choice{&find_algorithm(Collective::all_reduce, "chain"),
                      {.algorithm = "chain", .segment = {1024}, .channels = channels}};
        const Call call{.collective = Collective::all_reduce, .count = 16 * 256};  // 16 KiB
        return job_of(choice, call, 4, Placement::one_node(4)).segments;
    };
    EXPECT_EQ(segments(1), 16);
    EXPECT_EQ(segments(2), 8);
    EXPECT_EQ(segments(4), 4);
}

// The ranks of 8 hosts with 8 ranks each: multi-rail cuts a segment into a chunk for each rank, and
// two-level into one for each host, whose messages must not become too short.
TEST(Segments, GrowWithTheChunksThatAnAlgorithmCutsThemInto) {
    const auto segment = [](std::string_view name, Bytes chosen = {},
                            Collective collective = Collective::all_reduce,
                            std::int64_t elements = 2 << 20) {  // blocks of 8 MiB
        const Choice choice{&find_algorithm(collective, name),
                            {.algorithm = std::string(name), .segment = chosen},
                            {.default_segment = segment_across_hosts}};
        const Call call{.collective = collective, .count = elements};
        const Placement hosts = Placement::in_nodes_of(64, 8);
        const Bytes result = segment_of(choice, call, 64, hosts);
        EXPECT_EQ(job_of(choice, call, 64, hosts).segments,
                  segments_for(Bytes{4 * elements}, result));
        return result;
    };
    EXPECT_EQ(segment("chain"), segment_across_hosts);
    EXPECT_EQ(segment("two-level"), Bytes{8 * 20 * 1024});
    EXPECT_EQ(segment("two-level", {}, Collective::all_reduce, 256 << 10), Bytes{8 * 15 * 1024});
    EXPECT_EQ(segment("multi-rail"), Bytes{64 * 15 * 1024});
    const std::int64_t count_of_48_segments = 48 * 64 * 20 * 1024 / 4;
    for (const int fewer : {0, 1})
        EXPECT_EQ(segment("multi-rail", {}, Collective::all_reduce, count_of_48_segments - fewer),
                  Bytes{64 * (fewer == 0 ? 20 : 15) * 1024});
    EXPECT_EQ(segment("multi-rail", Bytes{1024}), Bytes{1024});
    EXPECT_EQ(segment("ring"), segment_across_hosts);  // it has no segments
    for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter})
        EXPECT_EQ(segment("multi-rail", {}, collective), segment_across_hosts)
            << "a chunk for each block, of which each segment has a part";
}

// Each link of two hosts receives from one host only.
TEST(Segments, OfLongVectorsAreLongerBetweenTwoHosts) {
    const auto segment = [](int ranks, std::int64_t bytes) {
        const Choice choice{&find_algorithm(Collective::all_reduce, "multi-rail"),
                            {.algorithm = "multi-rail"},
                            {.default_segment = segment_across_hosts}};
        const Call call{.collective = Collective::all_reduce, .count = bytes / 4};
        return segment_of(choice, call, ranks, Placement::in_nodes_of(ranks, ranks / 2));
    };
    for (const int ranks : {4, 8}) {
        const std::int64_t longer = ranks * 40 * 1024;
        EXPECT_EQ(segment(ranks, 12 * longer), Bytes{longer});
        EXPECT_EQ(segment(ranks, 12 * longer - 4), Bytes{ranks * 15 * 1024});
    }
}

// An MPI library divides only larger messages among the links of a host.
TEST(Segments, AreLargeEnoughForSeveralLinks) {
    const auto segment = [](std::string_view transport, int links, Bytes chosen = {}) {
        const Choice choice{
            &find_algorithm(Collective::all_reduce, "multi-rail"),
            {.algorithm = "multi-rail", .transport = std::string(transport), .segment = chosen},
            {.default_segment = segment_across_hosts, .links = links}};
        const Call call{.collective = Collective::all_reduce, .count = 192 << 10};  // 768 KiB
        const Placement hosts = Placement::in_nodes_of(4, 2);
        const Bytes result = segment_of(choice, call, 4, hosts);
        EXPECT_EQ(job_of(choice, call, 4, hosts).segments, segments_for(Bytes{768 << 10}, result));
        return result;
    };
    for (const char* transport : {"mpi", "hybrid-mpi"}) {
        EXPECT_EQ(segment(transport, 1), segment_across_hosts);
        EXPECT_EQ(segment(transport, 2), segment_over_links);
        EXPECT_EQ(segment(transport, 2, Bytes{1024}), Bytes{1024});
    }
    for (const char* transport : {"ucx", ""})
        EXPECT_EQ(segment(transport, 2), segment_across_hosts) << "tutti divides its messages";
    EXPECT_EQ(segment("hybrid", 2), ucx_missing() ? segment_over_links : segment_across_hosts);
    const Choice on_host{&find_algorithm(Collective::all_reduce, "chain"),
                         {.algorithm = "chain", .transport = "mpi"},
                         {.links = 2}};
    EXPECT_EQ(segment_of(on_host, {}, 4, Placement::one_node(4)), segment_on_host);
}

// Memory that peers reach on one rank but not on another must not count as registered, or ranks
// would wait for each other in different ways.
TEST(RegisteredMemory, CountsOnlyWhereAllRanksHaveIt) {
    for (const int unregistered_on : {0, 1, -1}) {
        std::atomic<std::int64_t> wrong = 0;
        run_as_threads(2, 5, [&](World& world) {
            Planner planner(world);
            const Call call{.collective = Collective::all_reduce, .count = 10'000};
            const std::size_t bytes = input_bytes(call, 2, world.rank());
            const auto shared = planner.registered_memory("shm", 2 * bytes);
            std::vector<std::byte> own(2 * bytes);
            const std::span<std::byte> memory =
                world.rank().index == unregistered_on ? std::span(own) : shared->mine();
            const auto input = memory.first(bytes), output = memory.subspan(bytes);
            const Choice choice{&find_algorithm(call.collective, "ring"),
                                {.algorithm = "ring", .transport = "shm"}};
            const auto plan = planner.plan(choice, call, {input, output, false}, shared.get());
            const CheckCase check = check_of(call, 2, 1);
            poison(output);
            fill_input(check, world.rank(), input);
            world.barrier();
            plan->run();
            wrong += count_wrong(check, world.rank(), output);
            world.barrier();
        });
        EXPECT_EQ(wrong, 0) << unregistered_on;
    }
}

// A root receives the vectors of all others, and may lack memory for them.
TEST(Plans, AreRefusedOnAllRanksWhereOneLacksMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers abort";
#endif
    std::atomic<int> refused = 0;
    run_as_threads(4, 20, [&](World& world) {
        Planner planner(world);
        constexpr std::size_t bytes = std::size_t{1} << 46;  // half of the address space
        std::byte* const nowhere = nullptr;                  // plans access no buffer
        const std::span<std::byte> input(nowhere + 64, bytes);
        const std::span<std::byte> output(nowhere + 64 + bytes, world.is_first() ? bytes : 0);
        const Call call{.collective = Collective::reduce, .count = bytes / sizeof(float)};
        const Choice choice{&find_algorithm(call.collective, "linear"),
                            {.algorithm = "linear", .transport = "loopback"}};
        try {
            planner.plan(choice, call, {input, output, false}, nullptr);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Exit::usage);
            ++refused;
        }
        world.barrier();
    });
    EXPECT_EQ(refused, 4);
}

}  // namespace
}  // namespace tutti
