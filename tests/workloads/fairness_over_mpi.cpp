// SPDX-License-Identifier: Apache-2.0
// Whether the MPI library is measured fairly: its calls get the sweep's own buffers, which our
// algorithms get, too; nothing is done before or after them; a forced algorithm is what the library
// runs. The library's functions are caught on their way (MPI's profiling interface) and noted.
// fairness_over_mpi_test.py starts it on 1, 2 and 4 ranks.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/baselines/mpi_control_variable.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "workloads/bench/sweep.hpp"

namespace {

// A call of the library's, by its buffers.
struct Seen {
    const void* send;
    const void* receive;
    auto operator<=>(const Seen&) const = default;
};
std::vector<Seen> collectives_seen;

// Memory that messages were sent from or received into.
struct Memory {
    const std::byte* begin;
    std::size_t bytes;
};
std::vector<Memory> messages_seen;
bool notes = false;

int noted(const void* send, const void* receive, int result) {
    if (notes) collectives_seen.push_back({send, receive});
    return result;
}

void note_message(const void* memory, int count, MPI_Datatype type) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    if (notes && count > 0)
        messages_seen.push_back(
            {static_cast<const std::byte*>(memory),
             static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes)});
}

}  // namespace

extern "C" {
int MPI_Allreduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
    return noted(s, r, PMPI_Allreduce(s, r, n, t, op, c));
}
int MPI_Reduce_scatter_block(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
    return noted(s, r, PMPI_Reduce_scatter_block(s, r, n, t, op, c));
}
int MPI_Allgather(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u,
                  MPI_Comm c) {
    return noted(s, r, PMPI_Allgather(s, n, t, r, m, u, c));
}
int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
    return noted(b, b, PMPI_Bcast(b, n, t, root, c));
}
int MPI_Reduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c) {
    return noted(s, r, PMPI_Reduce(s, r, n, t, op, root, c));
}
int MPI_Scatter(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
                MPI_Comm c) {
    return noted(s, r, PMPI_Scatter(s, n, t, r, m, u, root, c));
}
int MPI_Gather(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
               MPI_Comm c) {
    return noted(s, r, PMPI_Gather(s, n, t, r, m, u, root, c));
}
int MPI_Alltoall(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c) {
    return noted(s, r, PMPI_Alltoall(s, n, t, r, m, u, c));
}
int MPI_Isend(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q) {
    note_message(b, n, t);
    return PMPI_Isend(b, n, t, to, tag, c, q);
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* q) {
    note_message(b, n, t);
    return PMPI_Irecv(b, n, t, from, tag, c, q);
}
}

namespace tutti {
namespace {

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

// The library's own calls with nothing around them, on the buffers of one rank.
void bare_call(const Call& call, const CallBuffers& buffers) {
    const int n = static_cast<int>(call.count);
    const void* const input = buffers.in_place ? MPI_IN_PLACE : buffers.input.data();
    void* const mine = buffers.input.data() == nullptr
                           ? buffers.output.data()
                           : const_cast<std::byte*>(buffers.input.data());
    void* const output = buffers.output.data();
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (call.collective) {
        case Collective::all_reduce:
            PMPI_Allreduce(input, output, n, MPI_FLOAT, MPI_SUM, all);
            break;
        case Collective::reduce_scatter:
            PMPI_Reduce_scatter_block(input, buffers.in_place ? mine : output, n, MPI_FLOAT,
                                      MPI_SUM, all);
            break;
        case Collective::all_gather:
            PMPI_Allgather(input, n, MPI_FLOAT, output, n, MPI_FLOAT, all);
            break;
        case Collective::broadcast:  // in one buffer: the root has its message there as well
            if (!buffers.in_place) std::memcpy(output, mine, buffers.input.size());
            PMPI_Bcast(output, n, MPI_FLOAT, 0, all);
            break;
        case Collective::reduce:
            PMPI_Reduce(input, output, n, MPI_FLOAT, MPI_SUM, 0, all);
            break;
        case Collective::scatter:
            PMPI_Scatter(mine, n, MPI_FLOAT, buffers.in_place ? MPI_IN_PLACE : output, n, MPI_FLOAT,
                         0, all);
            break;
        case Collective::gather:
            PMPI_Gather(input, n, MPI_FLOAT, output, n, MPI_FLOAT, 0, all);
            break;
        case Collective::all_to_all:
            PMPI_Alltoall(input, n, MPI_FLOAT, output, n, MPI_FLOAT, all);
            break;
    }
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
        bare = std::min(bare, ns_of_block(calls, [&] { bare_call(call, buffers.call); }));
        measured = std::min(measured, ns_of_block(calls, [&] { operation->run(); }));
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
    collectives_seen.clear();
    notes = true;
    operation->run();
    notes = false;
    const void *input = buffers.call.input.data(), *output = buffers.call.output.data();
    expect(collectives_seen.size() == 1, words(call, in_place) + ": calls of the library: " +
                                             std::to_string(collectives_seen.size()));
    for (const Seen& seen : collectives_seen) {
        // Of a broadcast there is one buffer; who is not the root has no input, or no output.
        for (const void* address : {seen.send, seen.receive})
            expect(address == input || address == output || address == MPI_IN_PLACE,
                   words(call, in_place) + ": the library was given memory of no one's");
        const bool has_input =
            !buffers.call.input.empty() && call.collective != Collective::broadcast;
        if (!in_place && has_input)
            expect(seen.send == input, words(call, in_place) + ": the library read another input");
        if (!in_place && !buffers.call.output.empty())
            expect(seen.receive == output,
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
    Sweep sweep{
        .collective = collective,
        .candidates = candidates(collective, {.algorithms = {"linear"}, .transports = {"mpi"}}),
        .counts = {10'007},
        .buffers = {kind}};
    sweep.environment.ranks = world.size();
    sweep.protocol.sync = Protocol::Sync::barrier;
    sweep.protocol.fixed_samples = 3;
    collectives_seen.clear();
    messages_seen.clear();
    notes = true;
    std::vector<Point> measured;
    run_sweep(planner, sweep,
              {.after_point = [&](const std::vector<Point>& points) { measured = points; }});
    notes = false;
    const std::string what =
        std::string(name_of(collective)) + " in " + std::string(name_of(kind)) + " memory";
    expect(measured.size() == 2, what + ": not two candidates");
    for (const Point& point : measured)
        expect(!point.skipped && point.measured.check.state == CheckState::ok,
               what + ": " + point.skipped.value_or("wrong"));
    const Call call{.collective = collective, .count = 10'007};
    const std::set<Seen> library(collectives_seen.begin(), collectives_seen.end());
    expect(library.size() == 1, what + ": the library was given several buffers");
    expect(!messages_seen.empty(), what + ": ours sent nothing");
    if (library.empty()) return;
    const auto [send, receive] = *library.begin();
    const std::size_t input = input_bytes(call, world.size(), world.rank());
    const std::size_t output = output_bytes(call, world.size(), world.rank());
    // A root's broadcast of ours starts from the input, which the library has not seen.
    const bool is_root_of_broadcast = collective == Collective::broadcast && world.is_first();
    std::size_t elsewhere = 0;
    for (const Memory& message : messages_seen)
        if (!lies_in(message, send, input) && !lies_in(message, receive, output)) ++elsewhere;
    expect(elsewhere == 0 || is_root_of_broadcast,
           what + ": of " + std::to_string(messages_seen.size()) + " messages of ours " +
               std::to_string(elsewhere) + " are in memory that the library was not given");
}

// Messages that this rank has sent to each other on a communicator, as the library counts them.
class SentMessages {
public:
    SentMessages() {
        MpiControlVariable::find("coll_tuned_use_dynamic_rules");  // begins MPI's tool interface
        int index = 0, count = 0;
        if (MPI_T_pvar_get_index("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &index) !=
            MPI_SUCCESS)
            return;
        MPI_Comm all = MPI_COMM_WORLD;
        MPI_T_pvar_session_create(&session_);
        MPI_T_pvar_handle_alloc(session_, index, &all, &handle_, &count);
        MPI_T_pvar_start(session_, handle_);
        counts_.resize(static_cast<std::size_t>(count));
        is_there_ = count > 0;
    }
    ~SentMessages() {
        if (is_there_) MPI_T_pvar_session_free(&session_);
    }
    bool is_there() const { return is_there_; }

    std::vector<std::size_t> now() {
        MPI_T_pvar_read(session_, handle_, counts_.data());
        return counts_;
    }

private:
    MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle_ = MPI_T_PVAR_HANDLE_NULL;
    std::vector<std::size_t> counts_;
    bool is_there_ = false;
};

std::vector<std::size_t> sent_by(Planner& planner, SentMessages& sent, Collective collective,
                                 const std::string& algorithm) {
    World& world = planner.world();
    const Call call{.collective = collective, .count = 1000};
    BufferPool pool(world, BufferPool::bytes_for(call, world.size(), false),
                    std::vector{BufferKind::registered});
    const PooledBuffers buffers = pool.buffers_for(call, false, BufferKind::registered);
    const auto operation =
        operation_of(planner, candidate_of(collective, {.impl = "mpi", .algorithm = algorithm}),
                     call, buffers, {});
    world.barrier();
    operation->run();  // connections
    const auto before = sent.now();
    operation->run();
    auto after = sent.now();
    for (std::size_t peer = 0; peer < after.size(); ++peer) after[peer] -= before[peer];
    world.barrier();
    return after;
}

// Each algorithm has messages of its own: on four ranks a ring sends to the next one alone, six
// times for a sum and three to gather; doubling to the neighbour and to the one beyond, once;
// Bruck's to the ranks one and two places behind.
void runs_what_is_forced(Planner& planner) {
    if (planner.world().is_first()) std::printf("%s\n", mpi_library().c_str());
    SentMessages sent;
    if (!sent.is_there()) return;
    const auto me = as_size(planner.world().rank());
    const auto expect_sent = [&](Collective collective, const std::string& algorithm,
                                 std::map<std::size_t, std::size_t> to) {
        const auto counts = sent_by(planner, sent, collective, algorithm);
        std::string seen;
        bool is_right = true;
        for (std::size_t peer = 0; peer < counts.size(); ++peer) {
            seen += " " + std::to_string(counts[peer]);
            is_right = is_right && counts[peer] == to[peer];
        }
        expect(is_right, std::string(name_of(collective)) + " mpi/" + algorithm + ": rank " +
                             std::to_string(me) + " sent" + seen);
    };
    const std::size_t next = (me + 1) % 4;
    expect_sent(Collective::all_reduce, "ring", {{next, 6}});
    expect_sent(Collective::all_reduce, "recursive-doubling", {{me ^ 1, 1}, {me ^ 2, 1}});
    expect_sent(Collective::all_gather, "ring", {{next, 3}});
    expect_sent(Collective::all_gather, "recursive-doubling", {{me ^ 1, 1}, {me ^ 2, 1}});
    expect_sent(Collective::all_gather, "bruck", {{(me + 3) % 4, 1}, {(me + 2) % 4, 1}});
    expect_sent(Collective::all_reduce, "ring", {{next, 6}});
    std::printf("rank %zu: forced algorithms were counted\n", me);
}

void run(World& world) {
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
