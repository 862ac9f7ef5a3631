// SPDX-License-Identifier: Apache-2.0
// Whether the MPI library is measured fairly: its calls get the sweep's own buffers, which our
// algorithms get, too; nothing is done before or after them; a forced algorithm is what the library
// runs.
// fairness_over_mpi_test.py starts it on 1, 2 and 4 ranks.
#include <cstdio>
#include <set>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "seen_by_mpi.hpp"
#include "tests/workloads/bare_mpi_call.hpp"
#include "workloads/bench/sweep.hpp"

namespace tutti {
namespace {

using test::bare_mpi_call;
using test::Memory;
using test::SeenCall;

test::SeenByMpi& mpi_saw = test::seen_by_mpi;

int faults = 0;

void expect(bool holds, const std::string& what) {
    if (holds) return;
    ++faults;
    std::fprintf(stderr, "%s\n", what.c_str());
}

std::string words(const Call& call, bool in_place) {
    return std::string(name_of(call.collective)) + " of " + std::to_string(call.count) +
           (in_place ? " elements in place" : " elements");
}

template <class Work>
double ns_of_block(int calls, Work&& work) {
    const std::int64_t began = now_ns();
    for (int i = 0; i < calls; ++i) work();
    return static_cast<double>(now_ns() - began) / calls;
}

// Alone a rank waits for none, so that the least time of many short blocks is that of the work
// itself, however busy the machine. The library's call may cost as much as without us and 2 us
// more; where the data are copied, half as much again.
void costs_what_the_bare_call_does(Planner& planner, const Call& call, bool in_place) {
    World& world = planner.world();
    BufferPool pool(world, BufferPool::bytes_for(call, 1, in_place),
                    std::vector{BufferKind::registered});
    const PooledBuffers buffers = pool.buffers_for(call, in_place, BufferKind::registered);
    const auto operation =
        operation_of(planner, candidate_of(call.collective, {.impl = "mpi"}), call, buffers, {});
    double measured = 1e18, bare = 1e18;
    const int calls = call.count > 1000 ? 4 : 100;
    for (int block = 0; block < 60; ++block) {
        bare = std::min(bare, ns_of_block(calls, [&] { bare_mpi_call(call, buffers.call); }));
        measured = std::min(measured, ns_of_block(calls, [&] { operation.operation->run(); }));
    }
    expect(measured <= 1.5 * bare + 2'000,
           words(call, in_place) + ": measured " + std::to_string(measured) +
               " ns, the library alone " + std::to_string(bare) + " ns");
}

// One call of the library, with the very addresses of the caller.
void passes_the_buffers_on(Planner& planner, const Call& call, bool in_place) {
    World& world = planner.world();
    BufferPool pool(world, BufferPool::bytes_for(call, world.size(), in_place),
                    std::vector{BufferKind::registered});
    const PooledBuffers buffers = pool.buffers_for(call, in_place, BufferKind::registered);
    const auto operation =
        operation_of(planner, candidate_of(call.collective, {.impl = "mpi"}), call, buffers, {});
    mpi_saw.collectives.clear();
    mpi_saw.is_noting = true;
    operation.operation->run();
    mpi_saw.is_noting = false;
    const void *input = buffers.call.input.data(), *output = buffers.call.output.data();
    expect(mpi_saw.collectives.size() == 1, words(call, in_place) + ": calls of the library: " +
                                                std::to_string(mpi_saw.collectives.size()));
    if (call.collective == Collective::barrier) return;  // has none
    for (const SeenCall& call_seen : mpi_saw.collectives) {
        // A broadcast has one buffer; ranks other than the root lack an input or an output. The
        // library wants memory for a result of rank 0 in an exscan, too.
        const bool lacks_result =
            call.collective == Collective::exscan && world.is_first() && !in_place;
        for (const void* address :
             {call_seen.send, lacks_result ? call_seen.send : call_seen.receive})
            expect(address == input || address == output || address == MPI_IN_PLACE,
                   words(call, in_place) + ": the library was given memory of no one's");
        const bool has_input =
            !buffers.call.input.empty() && call.collective != Collective::broadcast;
        if (!in_place && has_input)
            expect(call_seen.send == input,
                   words(call, in_place) + ": the library read another input");
        if (!in_place && !buffers.call.output.empty())
            expect(call_seen.receive == output,
                   words(call, in_place) + ": the library wrote another output");
    }
}

bool lies_in(const Memory& inner, const void* begin, std::size_t bytes) {
    const auto* outer = static_cast<const std::byte*>(begin);
    return outer <= inner.begin && inner.begin + inner.bytes <= outer + bytes;
}

// In a sweep of one of ours and the library: what ours sends and receives lies in the buffers that
// the library was given.
void shares_the_buffers(Planner& planner, Collective collective, BufferKind kind) {
    World& world = planner.world();
    // Each message is one piece of a buffer, so none is packed.
    const char* const algorithm = collective == Collective::all_gather ? "ring" : "linear";
    Sweep sweep{
        .collective = collective,
        .candidates = candidates(collective, {.algorithms = {algorithm}, .transports = {"mpi"}}),
        .counts = {10'007},
        .buffers = {kind}};
    sweep.environment.ranks = world.size();
    sweep.protocol.sync = Protocol::Sync::barrier;
    sweep.protocol.fixed_samples = 3;
    mpi_saw.collectives.clear();
    mpi_saw.messages.clear();
    mpi_saw.is_noting = true;
    std::vector<Point> measured;
    run_sweep(planner, sweep,
              {.after_point = [&](const std::vector<Point>& points) { measured = points; }});
    mpi_saw.is_noting = false;
    const std::string what =
        std::string(name_of(collective)) + " in " + std::string(name_of(kind)) + " memory";
    expect(measured.size() == 2, what + ": not two candidates");
    for (const Point& point : measured)
        expect(!point.skipped && point.measured.check.state == CheckState::ok,
               what + ": " + point.skipped.value_or("wrong"));
    const Call call{.collective = collective, .count = 10'007};
    const std::set<SeenCall> library(mpi_saw.collectives.begin(), mpi_saw.collectives.end());
    expect(library.size() == 1, what + ": the library was given several buffers");
    expect(!mpi_saw.messages.empty(), what + ": ours sent nothing");
    if (library.empty()) return;
    const auto [send, receive] = *library.begin();
    const std::size_t input = input_bytes(call, world.size(), world.rank());
    const std::size_t output = output_bytes(call, world.size(), world.rank());
    // A root's broadcast of ours starts from the input, which the library has not seen.
    const bool is_root_of_broadcast = collective == Collective::broadcast && world.is_first();
    std::size_t elsewhere = 0;
    for (const Memory& message : mpi_saw.messages)
        if (!lies_in(message, send, input) && !lies_in(message, receive, output)) ++elsewhere;
    expect(elsewhere == 0 || is_root_of_broadcast,
           what + ": of " + std::to_string(mpi_saw.messages.size()) + " messages of ours " +
               std::to_string(elsewhere) + " are in memory that the library was not given");
}

// For a named algorithm the library must run its function of that name on every rank.
void runs_what_is_forced(Planner& planner) {
    if (!mpi_library().starts_with("Open MPI")) return;
    World& world = planner.world();
    struct Case {
        Collective collective;
        const char *algorithm, *function;
    };
    // Runs the first again after the others, and all in turn with the library's own choice.
    for (const auto& [collective, algorithm, function] :
         {Case{Collective::all_reduce, "ring", "ompi_coll_base_allreduce_intra_ring"},
          Case{Collective::all_reduce, "recursive-doubling",
               "ompi_coll_base_allreduce_intra_recursivedoubling"},
          Case{Collective::all_gather, "ring", "ompi_coll_base_allgather_intra_ring"},
          Case{Collective::all_gather, "bruck", "ompi_coll_base_allgather_intra_bruck"},
          Case{Collective::all_reduce, "ring", "ompi_coll_base_allreduce_intra_ring"}})
        for (const std::int64_t count : {4, 1000, 100'000}) {
            const Call call{.collective = collective, .count = count};
            BufferPool pool(world, BufferPool::bytes_for(call, world.size(), false),
                            std::vector{BufferKind::registered});
            const PooledBuffers buffers = pool.buffers_for(call, false, BufferKind::registered);
            const auto operation = operation_of(
                planner, candidate_of(collective, {.impl = "mpi", .algorithm = algorithm}), call,
                buffers, {});
            const auto own =
                operation_of(planner, candidate_of(collective, {.impl = "mpi"}), call, buffers, {});
            own.operation->run();
            mpi_saw.algorithms.clear();
            mpi_saw.is_noting = true;
            operation.operation->run();
            mpi_saw.is_noting = false;
            std::string ran;
            for (const std::string& one : mpi_saw.algorithms) ran += " " + one;
            expect(ran == std::string(" ") + function, std::string(name_of(collective)) +
                                                           " by mpi/" + algorithm + " of " +
                                                           std::to_string(count) + " ran" + ran);
            world.barrier();
        }
    if (world.is_first()) std::printf("forced algorithms ran\n");
}

void run(World& world) {
    mpi_saw.set_up = mpi_handle(world);
    Planner planner(world);
    for (const Collective collective : all_collectives())
        for (const std::int64_t count : {1, 65'536})
            for (const bool in_place : {false, true}) {
                const Call call{.collective = collective, .count = count};
                passes_the_buffers_on(planner, call, in_place);
                if (world.size() == 1) costs_what_the_bare_call_does(planner, call, in_place);
            }
    if (world.size() == 2)
        for (const Collective collective :
             {Collective::broadcast, Collective::all_gather, Collective::scatter,
              Collective::gather, Collective::all_to_all})
            for (const BufferKind kind : {BufferKind::registered, BufferKind::unregistered})
                shares_the_buffers(planner, collective, kind);
    if (world.size() == 4) runs_what_is_forced(planner);
}

}  // namespace
}  // namespace tutti

int main() {
    try {
        for (const tutti::Baseline& library : tutti::baselines()) library.before_start();
        tutti::MpiSession session;
        tutti::run(session.world());
        return tutti::true_on_all_ranks(session.world(), tutti::faults == 0) ? 0 : 1;
    } catch (const tutti::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
