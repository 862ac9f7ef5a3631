// SPDX-License-Identifier: Apache-2.0
// Ranks of an MPI program in communicators over all of them, over halves of them and over each
// alone: our algorithms over MPI's messages and in shared memory, and the MPI library's own
// collectives, in changing buffers and with calls under way. over_mpi_test.py starts it.
#include <mpi.h>

#include <cstdio>

#include "autotune/choice/subject.hpp"
#include "caller.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_control_variable.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_library.hpp"
#include "library/communicator_state.hpp"

namespace {

bool tool_interface_has_begun = false;

}  // namespace

// The linker takes this function in place of the MPI library's, so the test sees each call.
extern "C" int MPI_T_init_thread(int required, int* provided) {
    tool_interface_has_begun = true;
    return PMPI_T_init_thread(required, provided);
}

namespace {

using namespace tutti;

// By names that Open MPI has; MPICH has the ring, too, and takes its defaults for the others.
const char* forced(Collective collective) {
    return collective == Collective::all_gather ? "ring" : "linear";
}

// By an algorithm that is cut, over MPI's messages, so that a call goes in several lanes; else by
// the ring.
Configuration large(Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
        case Collective::broadcast:
        case Collective::reduce:
            return {.algorithm = "chain", .transport = "mpi", .segment = {4096}};
        default:
            return {.algorithm = "ring", .transport = "shm"};
    }
}

// For calls in unregistered memory: by size the library, a forced algorithm of it, messages of MPI.
Table mixed(int handle) {
    const auto world = mpi_world(handle);
    const JobShape job_shape = job_shape_of(*world);
    Table table;
    for (const Collective collective : all_collectives())
        table.sections.push_back(
            {job_shape,
             {collective, reduces(collective) ? TypeClass::native : TypeClass::bytes,
              reduces(collective) ? OpClass::plain : OpClass::none, BufferKind::unregistered},
             {{Bytes{0}, {.impl = "mpi"}},
              {Bytes{1000}, {.impl = "mpi", .algorithm = forced(collective)}},
              {Bytes{3000}, {.algorithm = "linear", .transport = "mpi"}},
              {Bytes{50'000}, large(collective)}}});
    return table;
}

std::int64_t wrong_elements(MPI_Comm comm, bool learns) {
    const int handle = number_of(comm);
    CommunicatorOptions options{.table = mixed(handle), .most_plans = 40};
    if (learns) options.learn.emplace();
    auto communicator = Communicator::over_mpi(handle, options);
    const int me = communicator.rank().index;
    test::Caller caller(communicator, me);
    std::mt19937 same(11), own(static_cast<unsigned>(me));
    for (int i = 0; i < 300; ++i) {
        const Call call{.collective = all_collectives()[same() % 8],
                        .root = Rank{static_cast<int>(same() % 2) % communicator.size()},
                        .count = std::array{50, 500, 5000, 20'000}[same() % 4]};
        if (same() % 3 != 0)
            caller.call(call);
        else
            caller.start(call);
        while (caller.under_way() > 6 || (caller.under_way() > 0 && own() % 4 == 0))
            caller.wait_for(own() % caller.under_way());
    }
    while (caller.under_way() > 0) caller.wait_for(0);
    return caller.wrong();
}

// Open MPI loads all its components when the tool interface begins, which can take 200 ms: a
// program whose calls are left to the library must not pay for that.
bool leaves_tool_interface_alone(MPI_Comm comm) {
    const int handle = number_of(comm);
    Table table = mixed(handle);
    for (Section& section : table.sections) section.ranges.resize(1);  // the library's own
    auto communicator = Communicator::over_mpi(handle, {.table = table});
    std::vector<float> data(400);
    communicator.all_reduce(data);
    communicator.broadcast(data);
    const Configuration choice = communicator.choice_for(arguments::all_reduce(data, Op::sum));
    return to_string(choice) == "mpi" && !tool_interface_has_begun;
}

// An algorithm forced in the library for an all-gather is forced for this communicator only.
bool keeps_to_itself(MPI_Comm comm) {
    const auto setting = [] {
        const auto open_mpi = MpiControlVariable::find("coll_tuned_allgather_algorithm");
        return open_mpi ? open_mpi
                        : MpiControlVariable::find("MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM");
    }();
    const int handle = number_of(comm);
    auto communicator = Communicator::over_mpi(handle, {.table = mixed(handle)});
    if (!setting || communicator.size() == 1) return true;
    const int as_found = setting->value();
    std::vector<float> all(400), mine(all.size() / static_cast<std::size_t>(communicator.size()));
    const Configuration choice = communicator.choice_for(arguments::all_gather(mine, all));
    bool is_alike = setting->value() == as_found;
    for (int i = 0; i < 3; ++i) {
        communicator.all_gather(mine, all);
        is_alike = is_alike && setting->value() == as_found;
    }
    return is_alike && to_string(choice) == "mpi/ring";
}

// A started call is done by a plan although the table has the library for it: a call of the library
// makes no progress while the program computes.
bool starts_plans(MPI_Comm comm) {
    const int handle = number_of(comm);
    auto own = mpi_world(handle);
    World& world = *own;
    Communicator::State state(std::move(own), world, {.table = mixed(handle)});
    std::vector<float> data(50);
    const CallArguments call = arguments::all_reduce(data, Op::sum);
    if (state.choice_for(call).is_ours()) return false;
    state.start(call).wait();
    return std::ranges::any_of(state.plans, [](const CachedPlan& plan) {
        return plan.key.mode == CallMode::nonblocking && plan.configuration.is_ours();
    });
}

// tutti may refuse Open MPI for sums of int8, but not for those of int32, which are of the same
// class. The choice for one of the two must not become the other's. Both vectors have 200 bytes.
bool chooses_for_each_type(MPI_Comm comm) {
    const int handle = number_of(comm);
    bool is_right = true;
    for (const bool narrow_first : {false, true}) {
        auto communicator = Communicator::over_mpi(handle, {.table = mixed(handle)});
        std::vector<std::int8_t> narrow(200, 100);
        std::vector<std::int32_t> wide(50, 100);
        if (narrow_first) communicator.all_reduce(narrow);
        communicator.all_reduce(wide);
        if (!narrow_first) communicator.all_reduce(narrow);
        const int sum = 100 * communicator.size();
        const Configuration choice = communicator.choice_for(arguments::all_reduce(wide, Op::sum));
        is_right = is_right && to_string(choice) == "mpi" && wide.front() == sum &&
                   narrow.front() == static_cast<std::int8_t>(sum);
    }
    return is_right;
}

// Rank 0 repeats one buffer and others change theirs, so they find the plan in different ways. All
// must tell that the call was left to the library.
bool tells_what_is_left(MPI_Comm comm) {
    const int handle = number_of(comm);
    const auto world = mpi_world(handle);
    CommunicatorOptions options{.table = mixed(handle)};
    options.learn = Learning{.arms = [](Collective) { return std::vector<Configuration>{}; }};
    Communicator::State state(nullptr, *world, options, Communicator::State::Use::preloaded);
    std::array<std::array<float, 16>, 8> buffers{};
    bool all_told = true;
    for (std::size_t i = 0; i < 2000; ++i) {
        const auto buffer =
            std::as_writable_bytes(std::span(buffers[world->is_first() ? 0 : i % buffers.size()]));
        state.run({{.collective = Collective::broadcast, .count = 16}, {buffer, buffer, true}});
        all_told = all_told && state.left_to_library.point != nullptr;
    }
    return true_on_all_ranks(*world, all_told);
}

// Global variables outlive MPI_Finalize, which a program should avoid.
std::unique_ptr<Communicator> left_until_the_end(std::vector<float>& data) {
    const int handle = number_of(MPI_COMM_WORLD);
    auto left = std::make_unique<Communicator>(
        Communicator::over_mpi(handle, {.table = mixed(handle), .learn = Learning{}}));
    for (const std::size_t count : {50, 500, 5000, 20'000})
        left->all_reduce(std::span(data).first(count));
    return left;
}

void expect_refusal(Communicator& communicator, std::span<float> data) {
    try {
        communicator.all_reduce(data);
        std::fprintf(stderr, "a communicator was used after MPI_Finalize\n");
    } catch (const Error&) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    for (const Baseline& library : baselines()) library.before_start();
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);  // in the opposite order
    std::unique_ptr<Communicator> left;
    std::vector<float> data(30'000);
    try {
        long long wrong = 0;
        if (!leaves_tool_interface_alone(MPI_COMM_WORLD))
            throw Error("MPI's tool interface has begun for calls left to the library");
        for (const MPI_Comm comm : {MPI_COMM_WORLD, half, MPI_COMM_SELF})
            for (const bool learns : {false, true}) wrong += wrong_elements(comm, learns);
        if (!keeps_to_itself(MPI_COMM_WORLD))
            throw Error("more was forced in the MPI library than an all-gather of tutti's");
        if (!tool_interface_has_begun)
            throw Error("this test did not see that MPI's tool interface began");
        if (!starts_plans(MPI_COMM_WORLD)) throw Error("a started call was given to the library");
        if (!chooses_for_each_type(MPI_COMM_WORLD))
            throw Error("the choice of one type was another one's");
        if (!tells_what_is_left(MPI_COMM_WORLD))
            throw Error("some ranks did not tell that a call was left to the library");
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        left = left_until_the_end(data);
        if (rank == 0) std::printf("%lld elements are wrong\n", wrong);
    } catch (const Error& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    expect_refusal(*left, data);
}
