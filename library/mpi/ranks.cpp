// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>

#include "autotune/choice/default_choice.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_number.hpp"

namespace tutti {

PreloadSettings preloaded;
thread_local int Inside::depth_ = 0;
std::atomic<std::uint32_t> kinds_taken{0};
std::atomic<std::uint64_t> communicators_freed{1};
thread_local std::array<KnownPair, 32> known_ranks;

namespace {

// Another rank may compute for hours before it comes; the launcher ends a job that has lost one.
constexpr double years = 1e8;

int keyval = MPI_KEYVAL_INVALID;

// Those that live, in the order of their first calls. Never destroyed, as MPI may end in the
// destructor of another library, after this one's.
auto& living_mutex = *new std::mutex;
auto& living = *new std::list<Ranks*>;

int end_with_communicator(MPI_Comm, int, void* attribute, void*) {
    communicators_freed.fetch_add(1, std::memory_order_release);
    auto* const ranks = static_cast<Ranks*>(attribute);
    {
        const std::lock_guard lock(living_mutex);
        living.remove(ranks);
    }
    delete ranks;
    return MPI_SUCCESS;
}

// Ranks of another job may run without this library, and would not come.
bool are_of_this_job(MPI_Comm comm, int size) {
    MPI_Group theirs = MPI_GROUP_NULL, ours = MPI_GROUP_NULL;
    PMPI_Comm_group(comm, &theirs);
    PMPI_Comm_group(MPI_COMM_WORLD, &ours);
    std::vector<int> ranks(as_size(size)), in_world(as_size(size));
    for (int rank = 0; rank < size; ++rank) at(ranks, rank) = rank;
    PMPI_Group_translate_ranks(theirs, size, ranks.data(), ours, in_world.data());
    PMPI_Group_free(&theirs);
    PMPI_Group_free(&ours);
    return std::ranges::find(in_world, MPI_UNDEFINED) == in_world.end();
}

// The facts that decide are the same on all ranks.
bool is_for_the_library(MPI_Comm comm) {
    int is_between_groups = 0, size = 0;
    PMPI_Comm_test_inter(comm, &is_between_groups);
    if (is_between_groups != 0) return true;
    PMPI_Comm_size(comm, &size);
    return size < 2 || !are_of_this_job(comm, size);
}

// The library's own choice, which is tried first, and what goes within a host: the rest would have
// to be ended by all ranks together.
std::vector<Configuration> arms_of(Collective collective, const World& world) {
    std::vector<Configuration> arms = all_choices(collective, world);
    std::erase_if(arms, [](const Configuration& arm) {
        return arm.is_ours() ? arm.transport != "shm" : arm.impl != "mpi";
    });
    std::ranges::stable_partition(arms, [](const Configuration& arm) { return !arm.is_ours(); });
    return arms;
}

CommunicatorOptions options_for(const World& world) {
    CommunicatorOptions options;
    if (preloaded.chooser == PreloadChoice::table) options.table_file = preloaded.table_file;
    options.table_anyway = preloaded.table_anyway;
    if (preloaded.chooser == PreloadChoice::learn)
        options.learn = Learning{
            .arms = [&world](Collective collective) { return arms_of(collective, world); }};
    return options;
}

// What tutti asks of MPI does not end a program whose error handler ends it.
class ErrorsReturn {
public:
    explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
        PMPI_Comm_get_errhandler(comm, &before_);
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    ~ErrorsReturn() {
        PMPI_Comm_set_errhandler(comm_, before_);
        PMPI_Errhandler_free(&before_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

Ranks::Ranks(MPI_Comm comm) : comm_(comm) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    if (is_for_the_library(comm))
        stage_ = Stage::the_librarys;
    else if (preloaded.reports || preloaded.turn_calls > 0)
        turns_ = std::make_unique<Turns>();
}

Ranks::~Ranks() { leave(); }

void Ranks::begin() {
    const Inside inside;
    stage_ = Stage::the_librarys;
    try {
        const ErrorsReturn as_long_as_it_is_copied(comm_);
        world_ = mpi_world(number_of(comm_), years);
        if (!world_->one_host()) return world_.reset();
        if (!true_on_all_ranks(*world_, !takes_memory_of_gpus()))
            throw Error("the MPI library takes buffers on GPUs, which tutti does not");
        progress_.emplace(communicator_of(mpi_handle(*world_)));
        world_->register_progress(*progress_);
        state_ = std::make_unique<Communicator::State>(nullptr, *world_, options_for(*world_));
        state_->leaves_alone = true;
        if (!state_->planner.refuses("shm")) stage_ = Stage::ours;
    } catch (const std::exception& error) {  // on all ranks alike, unless the job has lost one
        if (rank_ == 0)
            fmt::print(stderr, "tutti: the MPI library goes on without tutti: {}\n", error.what());
        state_.reset();
        world_.reset();
    }
}

void Ranks::leave() {
    const Inside inside;
    stage_ = Stage::the_librarys;
    state_.reset();
    world_.reset();
    turns_.reset();
}

void Ranks::ProgressOfMpi::make_progress() {
    int is_there = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &is_there, MPI_STATUS_IGNORE);
}

int Ranks::report(const std::exception& error) {
    if (state_->is_broken) stage_ = Stage::the_librarys;
    fmt::print(stderr, "tutti: {}\n", error.what());
    PMPI_Comm_call_errhandler(comm_, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

std::span<std::byte> Ranks::scratch(Scratch which, std::size_t bytes) {
    Memory& memory = at(scratch_, which);
    if (memory.size < bytes) memory = {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
    return {memory.bytes.get(), bytes};
}

void Ranks::give_back_scratch() {
    constexpr std::size_t most_kept = std::size_t{16} << 20;
    for (Memory& memory : scratch_)
        if (memory.size > most_kept) memory = {};
}

BlockSizes Ranks::agree(const BlockSizes& known, std::optional<int> root) {
    std::array<std::int64_t, 2> mine{known.most, -known.least}, all = mine;
    const auto input = std::as_bytes(std::span(mine));
    const auto output = std::as_writable_bytes(std::span(all));
    if (root)
        run({{Collective::broadcast, DataType::int64, Op::sum, Rank{*root}, 2},
             {output, output, true}});
    else
        run({{Collective::all_reduce, DataType::int64, Op::max, Rank{0}, 2},
             {input, output, false}});
    return {.least = -all[1], .most = all[0]};
}

void Ranks::combine(const Call& call, std::span<const std::byte> vectors, int how_many,
                    std::byte* out) {
    if (how_many == 0) return;
    if (combiner_.kernel == nullptr || combiner_.type != call.type || combiner_.op != call.op)
        combiner_ = {call.type, call.op, find_reduce(call.type, call.op)};
    combiner_.vectors.clear();
    for (int i = 0; i < how_many; ++i)
        combiner_.vectors.push_back(vectors.data() + vectors.size() / as_size(size_) * as_size(i));
    combiner_.kernel(&out, 1, combiner_.vectors.data(), as_size(how_many), as_size(call.count));
}

Ranks* look_up_ranks(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return nullptr;
    const std::uint64_t epoch = communicators_freed.load(std::memory_order_acquire);
    void* attribute = nullptr;
    int found = 0;
    if (PMPI_Comm_get_attr(comm, keyval, &attribute, &found) != MPI_SUCCESS) return nullptr;
    auto* ranks = static_cast<Ranks*>(attribute);
    if (found == 0) {
        ranks = new Ranks(comm);
        {
            const std::lock_guard lock(living_mutex);
            living.push_back(ranks);
        }
        PMPI_Comm_set_attr(comm, keyval, ranks);
    }
    if (!ranks->may_take()) ranks = nullptr;
    KnownPair& known = known_pair_of(comm);
    known[1] = known[0];
    known[0] = {comm, epoch, ranks};
    return ranks;
}

void begin_taking_calls() {
    if (preloaded.chooser == PreloadChoice::off) return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_with_communicator, &keyval, nullptr);
    kinds_taken = preloaded.kinds;
}

void end_taking_calls() {
    kinds_taken = 0;
    if (int mine = keyval; mine != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&mine);
    const std::lock_guard lock(living_mutex);
    for (Ranks* ranks : living) ranks->leave();
}

}  // namespace tutti
