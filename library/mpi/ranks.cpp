// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "autotune/choice/default_choice.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_library.hpp"

namespace tutti {

PreloadSettings preloaded;
bool job_has_several_hosts = false;
std::atomic<bool> duplicates_without_waiting{false};
std::atomic<std::uint32_t> kinds_taken{0};
std::atomic<std::uint64_t> communicators_freed{1};
constinit thread_local std::array<KnownPair, 32> known_ranks;

namespace {

// Effectively no timeout: a rank may compute for hours. If a rank fails, the launcher ends the job.
constexpr double years = 1e8;

int keyval = MPI_KEYVAL_INVALID;

// All live Ranks. Never destroyed: MPI may be finalized in another library's destructor, after
// ours.
auto& living_mutex = *new std::mutex;
auto& living = *new std::unordered_map<MPI_Comm, Ranks*>;

// The number of Ranks across hosts that tutti serves.
std::atomic<int> living_across_hosts = 0;

// A private communicator of this rank, used only to drive MPI progress. Created in MPI_Init, as
// creating it later could collide with the program's pending operations.
MPI_Comm for_progress = MPI_COMM_NULL;

int end_with_communicator(MPI_Comm, int, void* attribute, void*) {
    communicators_freed.fetch_add(1, std::memory_order_release);
    auto* const ranks = static_cast<Ranks*>(attribute);
    {
        const std::lock_guard lock(living_mutex);
        living.erase(ranks->comm());
    }
    delete ranks;
    return MPI_SUCCESS;
}

// Factor on the number of calls that a new communicator leaves to the MPI library first. It grows
// when this process frees communicators before they have repaid their setup cost.
std::atomic<std::int64_t> start_delay{1};

void learn_start_delay(std::int64_t lived_ns, std::int64_t cost_ns) {
    constexpr std::int64_t most = 4096, worth = 50;
    const std::int64_t now = start_delay;
    start_delay =
        lived_ns < worth * cost_ns ? std::min(most, 4 * now) : std::max<std::int64_t>(1, now / 2);
}

// Ranks of another job may run without this library, and would never join a call of tutti.
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

bool is_between_groups(MPI_Comm comm) {
    int is_so = 0;
    PMPI_Comm_test_inter(comm, &is_so);
    return is_so != 0;
}

// Returns the MPI library's own choice, which is tried first, and all configurations of the
// program's transport. Others would need a collective call to end.
std::vector<Configuration> arms_of(Collective collective, const World& world) {
    std::vector<Configuration> arms = choices_to_learn(collective, world);
    keep_choices_of_program(arms, world);
    std::ranges::stable_partition(arms, [](const Configuration& arm) { return !arm.is_ours(); });
    return arms;
}

// Messages between hosts need communicators of tutti. To make one waits for each rank that has not
// yet come to another one that the program is making at the same time: by MPI_Comm_idup or in
// another thread. MPI libraries have a limited number, MPICH about 2000.
bool may_make_communicators() {
    constexpr int most_living = 128;
    int threads = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&threads);
    return threads != MPI_THREAD_MULTIPLE && !duplicates_without_waiting &&
           living_across_hosts < most_living;
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

}  // namespace

Ranks::Ranks(MPI_Comm comm) : comm_(comm), first_calls_(preloaded.after) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    has_agreed_ = comm == MPI_COMM_WORLD;
    if (!has_agreed_ && !preloaded.always)
        first_calls_ *= 2;  // many communicators are freed before N calls
    if (size_ < 2 || is_between_groups(comm))
        stage_ = Stage::the_librarys;
    else if (preloaded.reports || preloaded.turn_calls > 0)
        turns_ = std::make_unique<TurnsOfCalls>();
}

Ranks::~Ranks() { leave(); }

// Collective: all ranks call this at the same call, as the conditions are equal on all ranks.
bool Ranks::agree_on_first_calls(std::int64_t calls, int times) {
    has_agreed_ = true;
    if (!are_of_this_job(comm_, size_)) {
        leave_to_library();
        return false;
    }
    if (first_calls_ == 0 || preloaded.always) return true;
    std::array<std::int64_t, 1> delay{start_delay};
    if (!maximize(delay)) return false;
    first_calls_ *= delay[0];
    return calls >= first_calls_ * times;
}

// Invalidates cached look-ups of this object.
void Ranks::leave_to_library() {
    stage_ = Stage::the_librarys;
    communicators_freed.fetch_add(1, std::memory_order_release);
}

// Replaces the values by their maxima over all ranks. Returns false if MPI fails. The MPI library
// then does all calls, and reports the error to the program.
bool Ranks::maximize(std::span<std::int64_t> values) {
    try {
        maximize_over_ranks(comm_, values);
        return true;
    } catch (const Error&) {
        leave_to_library();
        return false;
    }
}

bool Ranks::is_admitted(std::uint64_t key, std::int64_t bytes) {
    constexpr std::int64_t ns_of_beginning = 5'000'000, ns_of_plan = PlanAdmission::ns_of_plan;
    if (state_ && std::exchange(known_evictions_, state_->evictions) != state_->evictions)
        admission_.forget();
    const auto agree = [&](const PlanAdmission::Times& mine) -> PlanAdmission::Times {
        std::array<std::int64_t, 2> all{-mine.elapsed_ns, mine.spent_ns};
        if (!maximize(all)) return PlanAdmission::never;
        return {-all[0], all[1]};
    };
    return state_ ? admission_.admits(key, bytes, state_->making_ns, ns_of_plan, agree)
                  : admission_.admits(key, bytes, 0, ns_of_beginning + ns_of_plan, agree);
}

void Ranks::begin() {
    stage_ = Stage::the_librarys;
    try {
        world_ = world_on_programs_communicator(number_of(comm_), years);
        began_ns_ = now_ns();
        if (!world_->one_host() && !true_on_all_ranks(*world_, may_make_communicators())) {
            world_.reset();
            return leave_to_library();
        }
        if (!true_on_all_ranks(*world_, !takes_memory_of_gpus()))
            throw Error("the MPI library may get buffers on GPUs, which tutti does not support");
        world_->register_progress(progress_);
        state_ = std::make_unique<Communicator::State>(nullptr, *world_, options_for(*world_),
                                                       Communicator::State::Use::preloaded);
        living_across_hosts += world_->one_host() ? 0 : 1;
        if (auto refusal = state_->planner.refuses(transport_of_program(*world_)))
            throw Error(*refusal);
        stage_ = Stage::ours;
        may_meet_ = preloaded.always || (world_->one_host() && !world_->oversubscribed);
        never_meet_ = !may_meet_ && !turns_;
        leaves_barriers_ = !preloaded.always && preloaded.turn_calls == 0 && world_->one_host() &&
                           world_->oversubscribed;
        beginning_ns_ = now_ns() - began_ns_;
    } catch (const std::exception& error) {  // on all ranks, unless one has failed
        if (rank_ == 0) fmt::print(stderr, "tutti: continuing without tutti: {}\n", error.what());
        give_back();
        leave_to_library();
    }
}

void Ranks::leave() {
    stage_ = Stage::the_librarys;
    if (state_) learn_start_delay(now_ns() - began_ns_, beginning_ns_ + state_->making_ns);
    give_back();
    turns_.reset();
}

void Ranks::give_back() {
    if (state_) living_across_hosts -= world_->one_host() ? 0 : 1;
    state_.reset();
    world_.reset();
}

void Ranks::ProgressOfMpi::make_progress() {
    int is_there = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, for_progress, &is_there, MPI_STATUS_IGNORE);
}

int Ranks::report() {
    if (state_->is_broken) stage_ = Stage::the_librarys;
    fmt::print(stderr, "tutti: {}\n", problem_);
    PMPI_Comm_call_errhandler(comm_, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

std::span<std::byte> Ranks::scratch(Scratch which, std::size_t bytes) {
    uses_scratch_ = true;
    Memory& memory = at(scratch_, which);
    if (memory.size < bytes) memory = {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
    return {memory.bytes.get(), bytes};
}

void Ranks::give_back_scratch() {
    constexpr std::size_t most_kept = std::size_t{16} << 20;
    for (Memory& memory : scratch_)
        if (memory.size > most_kept) memory = {};
}

// Returns the longest; 0 if the MPI library must do the call.
std::int64_t Ranks::agree_on_lengths() {
    run(exchange_.all_gather(size_));
    return set_lengths(exchange_.agreed());
}

namespace {

// Communicators that this thread is freeing, with the stack frame of each call. An error handler
// may have left such a call by longjmp: entries whose frame is no longer on the stack are dropped.
struct Freed {
    MPI_Comm comm;
    const void* frame;
};
[[gnu::tls_model("initial-exec")]] thread_local std::array<Freed, 8> being_freed;
[[gnu::tls_model("initial-exec")]] thread_local std::size_t freed_count = 0;

void forget_ended(const void* frame) {
    while (freed_count > 0 && being_freed[freed_count - 1].frame <= frame) --freed_count;
}

bool is_being_freed(MPI_Comm comm) {
    forget_ended(__builtin_frame_address(0));
    return std::any_of(being_freed.begin(), being_freed.begin() + freed_count,
                       [&](const Freed& one) { return one.comm == comm; });
}

}  // namespace

FreedCommunicator::FreedCommunicator(MPI_Comm comm) {
    // Freeing these two fails.
    if (kinds_taken == 0 || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) return;
    Ranks* ranks = nullptr;
    {
        const std::lock_guard lock(living_mutex);
        const auto known = living.find(comm);
        if (known != living.end()) ranks = known->second;
    }
    forget_ended(this);
    if (freed_count < being_freed.size()) being_freed[freed_count++] = {comm, this};
    if (ranks == nullptr) return;
    ranks->leave();
    communicators_freed.fetch_add(1, std::memory_order_release);
}

FreedCommunicator::~FreedCommunicator() { forget_ended(this); }

Ranks* look_up_ranks(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL || is_being_freed(comm)) return nullptr;
    const std::uint64_t epoch = communicators_freed.load(std::memory_order_acquire);
    void* attribute = nullptr;
    int found = 0;
    if (PMPI_Comm_get_attr(comm, keyval, &attribute, &found) != MPI_SUCCESS) return nullptr;
    auto* ranks = static_cast<Ranks*>(attribute);
    if (found == 0) {
        ranks = new Ranks(comm);
        {
            const std::lock_guard lock(living_mutex);
            living[comm] = ranks;
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
    PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &for_progress);
    kinds_taken = preloaded.kinds;
}

void end_taking_calls() {
    kinds_taken = 0;
    if (keyval == MPI_KEYVAL_INVALID) return;
    PMPI_Comm_free_keyval(&keyval);
    {
        const std::lock_guard lock(living_mutex);
        std::vector<Ranks*> in_order;
        for (const auto& [comm, ranks] : living) in_order.push_back(ranks);
        // Those with messages free communicators of their own, which may wait for other ranks.
        std::ranges::sort(in_order, {}, &Ranks::began_ns);
        for (Ranks* const ranks : in_order) ranks->leave();
    }
    PMPI_Comm_free(&for_progress);
}

}  // namespace tutti
