// SPDX-License-Identifier: Apache-2.0
// Which ways the transfers of a call take, by size, memory and transport.
#include "collectives/planner/route.hpp"

#include <gtest/gtest.h>

#include "collectives/transport/table/transports.hpp"

namespace tutti {
namespace {

using enum TransferMethod;
constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;
constexpr int ranks = 4;

// The route of an all_reduce of `bytes` by the ring, which sends a quarter of them at a time.
Route route(std::string_view transport, BufferKind buffers, std::int64_t bytes,
            bool oversubscribed = false) {
    const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
    const Choice choice{&ring, {.algorithm = "ring", .transport = std::string(transport)}};
    const Call call{.type = DataType::uint8, .count = bytes};
    return route_of(choice, {call, buffers, Placement::one_node(ranks), false, oversubscribed},
                    find_transport(transport).methods, {});
}

std::vector<Way> ways(std::string_view transport, BufferKind buffers, std::int64_t bytes) {
    return route(transport, buffers, bytes).ways;
}

using Ways = std::vector<Way>;

TEST(Route, UsesLinesForSmallVectorsInAnyMemory) {
    for (const BufferKind kind : {BufferKind::registered, BufferKind::mapped})
        EXPECT_EQ(ways("shm", kind, 256), (Ways{{lines}}));
    EXPECT_EQ(ways("shm", BufferKind::unregistered, 256), (Ways{{lines}}));
}

TEST(Route, IsInPlaceWherePeersReachTheMemory) {
    for (const std::int64_t bytes : {257L, 64 * KiB, 64 * MiB}) {
        EXPECT_EQ(ways("shm", BufferKind::registered, bytes), (Ways{{registered}}));
        EXPECT_EQ(ways("shm", BufferKind::mapped, bytes), (Ways{{mapped}}));
    }
}

TEST(Route, CopiesSmallVectorsWhereRanksShareCores) {
    const auto of = [](BufferKind kind, std::int64_t bytes) {
        return route("shm", kind, bytes, true).ways;
    };
    for (const BufferKind kind : {BufferKind::registered, BufferKind::mapped})
        for (const std::int64_t bytes : {256L, 4 * KiB, 8 * KiB})
            EXPECT_EQ(of(kind, bytes), of(BufferKind::unregistered, bytes));
    EXPECT_EQ(of(BufferKind::registered, 8 * KiB + 4), (Ways{{registered}}));
    EXPECT_EQ(of(BufferKind::mapped, 8 * KiB + 4), (Ways{{mapped}}));
}

TEST(Route, TriesAllMethodsThatMayBeFastestInUnregisteredMemory) {
    const auto of = [](std::int64_t bytes) { return ways("shm", BufferKind::unregistered, bytes); };
    const auto small = [](int pieces) { return Way{copy_in_copy_out, pieces, {}, 1}; };
    EXPECT_EQ(of(257), (Ways{small(1)}));
    EXPECT_EQ(of(4 * KiB - 1), (Ways{small(1)}));
    EXPECT_EQ(of(4 * KiB), (Ways{small(1), {single_copy}}));
    EXPECT_EQ(of(64 * KiB), (Ways{small(1), small(2), {single_copy}}));
    EXPECT_EQ(of(MiB), (Ways{{copy_in_copy_out, 4}, {copy_in_copy_out, 32}, {single_copy}}));
    EXPECT_EQ(of(4 * MiB), (Ways{{copy_in_copy_out, 16}, {single_copy}}));
}

// In place, the root of a broadcast has no copy of its own, so it writes a half of the data.
TEST(Route, DividesKernelCopiesInPlaceOfBroadcastScatterAndGather) {
    const auto pieces = [](Collective collective, std::string_view algorithm, bool in_place) {
        const Choice choice{&find_algorithm(collective, algorithm),
                            {.algorithm = std::string(algorithm), .transport = "shm-cma"}};
        const Call call{.collective = collective, .type = DataType::uint8, .count = MiB};
        const Route route =
            route_of(choice, {call, BufferKind::unregistered, Placement::one_node(2), in_place},
                     find_transport("shm-cma").methods, {});
        return schedule_of(route.schedule, route.ways.at(0)).chunks() / route.schedule.chunks();
    };
    EXPECT_EQ(pieces(Collective::broadcast, "tree", true), 2);
    EXPECT_EQ(pieces(Collective::broadcast, "tree", false), 1);
    EXPECT_EQ(pieces(Collective::gather, "linear", true), 2);
    EXPECT_EQ(pieces(Collective::scatter, "linear", true), 2);
    EXPECT_EQ(pieces(Collective::reduce, "tree", true), 1);
    EXPECT_EQ(pieces(Collective::all_gather, "ring", true), 1);
}

TEST(Route, TriesSmallPiecesOfUpTo64KiBWhereRanksShareCores) {
    const auto of = [](std::int64_t bytes) {
        return route("shm", BufferKind::unregistered, bytes, true).ways;
    };
    EXPECT_EQ(of(64 * KiB), ways("shm", BufferKind::unregistered, 64 * KiB));
    EXPECT_EQ(of(128 * KiB), (Ways{{copy_in_copy_out, 1}, {single_copy}}));
    EXPECT_EQ(of(MiB), (Ways{{copy_in_copy_out, 4}, {single_copy}}));
}

bool goes_in_lines(Collective collective, int of_ranks, BufferKind buffers, std::int64_t bytes,
                   bool oversubscribed = false, const HostTuning& tuning = {}) {
    const char* const name = collective == Collective::all_to_all ? "round-robin" : "linear";
    const Choice choice{&find_algorithm(collective, name), {.algorithm = name, .transport = "shm"}};
    const Call call{.collective = collective, .type = DataType::uint8, .count = bytes};
    return route_of(choice, {call, buffers, Placement::one_node(of_ranks), false, oversubscribed},
                    find_transport("shm").methods, tuning)
               .ways.front() == Way{lines};
}

// Between two ranks counted by block: calls with blocks of different lengths are planned for the
// longest one.
TEST(Route, UsesLinesForSmallBlocks) {
    for (const Collective collective : {Collective::gather, Collective::all_to_all})
        for (const BufferKind kind :
             {BufferKind::registered, BufferKind::mapped, BufferKind::unregistered}) {
            EXPECT_TRUE(goes_in_lines(collective, 2, kind, 512));
            EXPECT_FALSE(goes_in_lines(collective, 2, kind, 513));
            const std::int64_t most = kind == BufferKind::unregistered ? 256 : 256 / ranks;
            EXPECT_TRUE(goes_in_lines(collective, ranks, kind, most));
            EXPECT_FALSE(goes_in_lines(collective, ranks, kind, most + 1));
        }
}

TEST(Route, HasALimitOfLinesForEachKindOfMemory) {
    const HostTuning tuning{.ll_up_to = {64}, .ll_up_to_unregistered = {2048}};
    const auto of = [&](BufferKind kind) {
        return goes_in_lines(Collective::gather, 2, kind, 1024, false, tuning);
    };
    EXPECT_FALSE(of(BufferKind::mapped));
    EXPECT_TRUE(of(BufferKind::unregistered));
}

// With a root, some ranks only send: where ranks share cores, lines let these run far ahead.
TEST(Route, UsesLinesForLargerBlocksOfRootedCallsWhereRanksShareCores) {
    const auto of = [](Collective collective, std::int64_t bytes) {
        return goes_in_lines(collective, ranks, BufferKind::unregistered, bytes, true);
    };
    EXPECT_TRUE(of(Collective::gather, 16 * KiB));
    EXPECT_FALSE(of(Collective::gather, 16 * KiB + 1));
    EXPECT_TRUE(of(Collective::all_to_all, 256));
    EXPECT_FALSE(of(Collective::all_to_all, 257));
    for (const BufferKind kind : {BufferKind::registered, BufferKind::mapped})
        EXPECT_FALSE(goes_in_lines(Collective::gather, ranks, kind, 4 * KiB, true));
}

TEST(Route, ExpectsTheKernelToCopyLargeVectorsFastest) {
    EXPECT_EQ(route("shm", BufferKind::unregistered, MiB - 4).expected, 0U);
    EXPECT_EQ(route("shm", BufferKind::unregistered, MiB).expected, 2U);
    EXPECT_EQ(route("shm", BufferKind::unregistered, 4 * MiB).expected, 1U);
}

TEST(Route, OfAPartIsItsMethodWhateverTheMemory) {
    for (const std::int64_t bytes : {8L, 8 * KiB, 8 * MiB}) {
        for (const BufferKind kind :
             {BufferKind::registered, BufferKind::unregistered, BufferKind::mapped}) {
            EXPECT_EQ(ways("shm-cma", kind, bytes), (Ways{{single_copy}}));
            EXPECT_EQ(ways("shm-mapped", kind, bytes), (Ways{{mapped}}));
            EXPECT_EQ(ways("shm-lines", kind, bytes), (Ways{{lines}}));
            EXPECT_EQ(ways("mpi", kind, bytes), (Ways{{messages}}));
        }
        EXPECT_EQ(ways("shm-direct", BufferKind::registered, bytes), (Ways{{registered}}));
    }
    EXPECT_EQ(ways("shm-direct", BufferKind::unregistered, MiB), (Ways{{copy_in_copy_out, 4}}));
}

// Across hosts the plan's messages go on in lanes; inside hosts it uses memory from 16 KiB on.
TEST(Route, ReachesRanksOfAHostByMemoryBesideMessages) {
    const auto of = [](BufferKind kind, std::int64_t bytes) { return ways("hybrid", kind, bytes); };
    for (const BufferKind kind :
         {BufferKind::registered, BufferKind::mapped, BufferKind::unregistered})
        EXPECT_EQ(of(kind, 16 * KiB), (Ways{{messages}}));
    EXPECT_EQ(of(BufferKind::registered, 16 * KiB + 1), (Ways{{registered}}));
    EXPECT_EQ(of(BufferKind::mapped, MiB), (Ways{{mapped}}));
    EXPECT_EQ(of(BufferKind::unregistered, MiB), (Ways{{single_copy}}));
    const Algorithm& chain = find_algorithm(Collective::broadcast, "chain");
    const Choice choice{&chain, {.algorithm = "chain", .transport = "hybrid"}};
    const Call call{.collective = Collective::broadcast, .type = DataType::uint8, .count = 4 * MiB};
    const auto without_kernel = find_transport("hybrid").methods.without({single_copy});
    const Way way = route_of(choice, {call, BufferKind::unregistered, Placement::in_nodes_of(4, 2)},
                             without_kernel, {})
                        .ways.at(0);
    EXPECT_EQ(way.method, copy_in_copy_out);
    EXPECT_EQ(way.lanes.count, 8);
}

// In an all-reduce by multi-rail, each rank of a host keeps the links busy.
TEST(Route, HasFewLanesWhereRanksThatShareCoresAllSend) {
    const auto lanes = [](Collective collective, bool oversubscribed) {
        const Choice choice{&find_algorithm(collective, "multi-rail"),
                            {.algorithm = "multi-rail", .transport = "hybrid"},
                            {.default_segment = segment_across_hosts}};
        return route_of(choice,
                        {.call = {.collective = collective, .count = 4 * MiB},
                         .buffers = BufferKind::registered,
                         .hosts = Placement::in_nodes_of(8, 2),
                         .oversubscribed = oversubscribed},
                        find_transport("hybrid").methods, {})
            .ways.front()
            .lanes.count;
    };
    EXPECT_EQ(lanes(Collective::all_reduce, false), 8);
    EXPECT_EQ(lanes(Collective::all_reduce, true), 2);
    EXPECT_EQ(lanes(Collective::reduce, true), 8);
}

TEST(Route, OnDevicesUsesLinesUpToTheSizeOfTheirRow) {
    for (const std::string_view transport : {"cuda", "cuda-emulated"}) {
        const std::int64_t most = find_transport(transport).device_lines_up_to.count;
        EXPECT_EQ(ways(transport, BufferKind::registered, most), (Ways{{device_lines}}));
        EXPECT_EQ(ways(transport, BufferKind::registered, most + 1), (Ways{{device_memory}}));
    }
}

TEST(Route, SendsDeviceMemoryByMessages) {
    for (const std::string_view transport : {"shm", "mpi", "nccl"})
        EXPECT_EQ(ways(transport, BufferKind::device, MiB), (Ways{{messages}})) << transport;
}

// An exchange in place reads a copy of its input, and a queue runs messages in order: lanes would
// wait for each other.
TEST(Route, HasLanesOnlyWhereTheyDoNotWaitForEachOther) {
    const auto lanes = [](Collective collective, const char* name, const char* transport,
                          bool in_place) {
        const Choice choice{&find_algorithm(collective, name),
                            {.algorithm = name, .transport = transport, .channels = 2}};
        const Call call{.collective = collective, .count = MiB};
        return route_of(choice,
                        {call, BufferKind::unregistered, Placement::one_node(ranks), in_place},
                        find_transport(transport).methods, {})
            .ways.front()
            .lanes.count;
    };
    for (const bool in_place : {false, true})
        EXPECT_EQ(lanes(Collective::all_reduce, "ring", "mpi", in_place), 2);
    EXPECT_EQ(lanes(Collective::all_to_all, "round-robin", "mpi", false), 2);
    EXPECT_EQ(lanes(Collective::all_to_all, "round-robin", "mpi", true), 1);
    EXPECT_EQ(lanes(Collective::all_reduce, "ring", "nccl", false), 1);
}

TEST(Route, StreamsResultsThatNoCacheCouldKeep) {
    const auto share = [](std::int64_t bytes) {
        return route("shm", BufferKind::registered, bytes).stores.streaming_share();
    };
    EXPECT_EQ(share(4 * MiB - 1), 0);  // inputs and outputs of all ranks: a little below 32 MiB
    EXPECT_EQ(share(4 * MiB), 1);
}

TEST(Route, UsesPlainStoresForSingleCopyWithoutReduction) {
    const auto share = [](Collective collective, TransferMethod method) {
        return stores_of(StoreChoice(Stores::streaming), collective, {method}).streaming_share();
    };
    EXPECT_EQ(share(Collective::all_gather, single_copy), 0);
    EXPECT_EQ(share(Collective::all_gather, copy_in_copy_out), 1);
    EXPECT_EQ(share(Collective::all_reduce, single_copy), 1);
}

}  // namespace
}  // namespace tutti
