// SPDX-License-Identifier: Apache-2.0
// The cost model predicts the plan that the planner makes.
#include "autotune/model/expected_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "collectives/planner/planner.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/transport/table/transports.hpp"
#include "collectives/world/host_memory.hpp"
#include "collectives/world/peer_memory.hpp"
#include "tests/autotune/model_call.hpp"
#include "tests/collectives/hosts_of_threads.hpp"

namespace tutti {
namespace {

constexpr int ranks = 3;
constexpr std::int64_t most = 8 << 20;  // bytes of a vector, or of all ranks' blocks

// Returns the calls of a collective of 1 byte up to `most`, around powers of eight.
std::vector<Call> calls_of(Collective collective) {
    std::vector<Call> calls;
    for (std::int64_t bytes = 1; bytes <= most; bytes *= 8)
        for (const std::int64_t size : {bytes, bytes + 1})
            calls.push_back({.collective = collective,
                             .type = DataType::uint8,
                             .root = Rank{has_root(collective) ? 1 : 0},
                             .count = count_for(collective, DataType::uint8, ranks,
                                                Bytes{std::min(size, most)})});
    return calls;
}

HostTuning unusual_tuning() {
    return {.ll_up_to = {100},
            .ll_up_to_unregistered = {5000},
            .fetch_from = {3000},
            .fetch_all_reduce_from = {70'000},
            .stage_piece = {10'000}};
}

class Comparison {
public:
    explicit Comparison(World& world)
        : planner_(world), memory_(host_memory(world, 2 * most)), elsewhere_(2 * most) {}

    void compare(const TransportRow& transport, const HostTuning& tuning) {
        if (planner_.refuses(transport.name)) return;
        // The model cannot know that a machine does not allow it.
        if (transport.methods.has(TransferMethod::single_copy) &&
            peer_memory_refuses(planner_.world()))
            return;
        planner_.tune(tuning);
        for (const Collective collective : all_collectives()) {
            const auto algorithms = algorithms_of(collective);
            const auto runs = [](const Algorithm* one) {
                return !one->refuses({.collective = one->collective, .ranks = ranks});
            };
            const Algorithm& algorithm = **std::ranges::find_if(algorithms, runs);
            for (const Call& call : calls_of(collective))
                for (const BufferKind kind : {BufferKind::registered, BufferKind::unregistered})
                    compare(transport, tuning, algorithm, call, kind);
        }
    }

    std::map<TransferMethod, int> seen;

private:
    void compare(const TransportRow& transport, const HostTuning& tuning,
                 const Algorithm& algorithm, const Call& call, BufferKind kind) {
        const Configuration configuration{.algorithm = std::string(algorithm.name),
                                          .transport = std::string(transport.name),
                                          .channels = 2};
        const std::span<std::byte> memory =
            kind == BufferKind::registered ? memory_->mine() : std::span(elsewhere_);
        const Rank me = planner_.world().rank();
        const CallBuffers buffers{memory.first(input_bytes(call, ranks, me)),
                                  memory.last(output_bytes(call, ranks, me))};
        const Route route =
            planner_.route({&algorithm, configuration}, call, buffers,
                           kind == BufferKind::registered ? memory_.get() : nullptr);
        const auto plan = expected_plan(configuration, {call, kind, planner_.world().hosts()},
                                        {.tuning = tuning});
        ASSERT_TRUE(plan);
        const Way& way = route.ways[route.expected];
        EXPECT_TRUE(plan->way == way)
            << to_string(configuration) << " " << name_of(kind) << ", " << call.count << " bytes";
        EXPECT_EQ(plan->schedule.steps(), pipelined(route.schedule, way.pieces).steps());
        ++seen[way.method];
    }

    Planner planner_;
    std::unique_ptr<ReachableMemory> memory_;
    std::vector<std::byte> elsewhere_;
};

TEST(ExpectedPlan, IsOneThatThePlannerMakes) {
    run_as_threads(ranks, 60, [](World& world) {
        Comparison comparison(world);
        for (const TransportRow& transport : transports())
            for (const HostTuning& tuning : {HostTuning{}, unusual_tuning()})
                comparison.compare(transport, tuning);
        for (const auto method : {TransferMethod::messages, TransferMethod::lines,
                                  TransferMethod::registered, TransferMethod::copy_in_copy_out})
            EXPECT_GT(comparison.seen[method], 0) << static_cast<int>(method);
    });
}

TEST(ExpectedPlan, AcrossHostsIsOneThatThePlannerMakes) {
    run_as_threads(ranks, 60, [](World& threads) {
        WorldOfHosts world(threads, Placement::in_nodes_of(ranks, 2));
        Comparison comparison(world);
        for (const HostTuning& tuning : {HostTuning{}, unusual_tuning()})
            comparison.compare(find_transport("hybrid"), tuning);
        for (const auto method : {TransferMethod::messages, TransferMethod::registered})
            EXPECT_GT(comparison.seen[method], 0) << static_cast<int>(method);
    });
}

// Ranks of one host, and hosts with one rank each, need no hybrid transport.
TEST(ExpectedPlan, OfHybridHasParametersByItsAccessToMemory) {
    const auto plan = [](int per_node, std::int64_t bytes, BufferKind buffers) {
        RoutedCall call = model_call(Collective::all_reduce, 4, per_node, bytes);
        call.buffers = buffers;
        const auto expected = expected_plan(configured("ring", "hybrid"), call, {.cores = 4});
        return expected ? expected->parameters : "";
    };
    EXPECT_EQ(plan(2, 64, BufferKind::registered), "hybrid/registered");
    EXPECT_EQ(plan(2, 1 << 20, BufferKind::registered), "hybrid shm-direct/registered");
    EXPECT_EQ(plan(2, 1 << 20, BufferKind::unregistered), "hybrid shm-cma/unregistered");
    EXPECT_EQ(plan(4, 64, BufferKind::registered), "");
    EXPECT_EQ(plan(1, 64, BufferKind::registered), "");
}

// Peers use mapped memory like registered memory, if the transport can.
TEST(ExpectedPlan, InMappedMemoryIsInPlaceIfTheTransportMapsIt) {
    const auto parameters = [](const char* transport) {
        RoutedCall call = model_call(Collective::all_reduce, ranks, ranks, 1 << 20);
        call.buffers = BufferKind::mapped;
        return expected_plan(configured("ring", transport), call, {.cores = ranks})->parameters;
    };
    EXPECT_EQ(parameters("shm"), "shm-direct/registered");
    EXPECT_EQ(parameters("shm-mapped"), "shm-direct/registered");
    EXPECT_EQ(parameters("shm-direct"), "shm-direct/unregistered");
    EXPECT_EQ(parameters("mpi"), "mpi/registered");
}

}  // namespace
}  // namespace tutti
