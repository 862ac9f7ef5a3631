// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/messages/mpi.hpp"

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/units.hpp"
#include "collectives/transport/messages/mpi_library.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/host_processes.hpp"

namespace tutti {

MpiCollectives mpi_collectives;

namespace {

// MPI_COMM_WORLD, for languages without mpi.h: TUTTI_MPI_COMM_WORLD of tutti.h. It is no handle of
// any MPI library.
constexpr int mpi_comm_world = std::numeric_limits<int>::min();

bool mpi_is_over() {
    int is_over = 0;
    PMPI_Finalized(&is_over);
    return is_over != 0;
}

// A program may call MPI_Finalize before it releases objects that use MPI; then there is nothing
// left to free.
void free_unless_over(MPI_Comm& comm) {
    if (!mpi_is_over()) PMPI_Comm_free(&comm);
}

// MPI counts in int. Plans cut their messages, and other messages are small.
int count_of(std::span<const std::byte> bytes) {
    if (!std::in_range<int>(bytes.size()))
        throw Error("MPI cannot send " + describe(Bytes{static_cast<std::int64_t>(bytes.size())}) +
                    " at once: its counts are int");
    return static_cast<int>(bytes.size());
}

// The constant properties of a communicator's ranks.
class RanksOfMpi : public World {
public:
    explicit RanksOfMpi(MPI_Comm comm) : comm_(comm) {
        check(PMPI_Comm_rank(comm_, &rank_));
        check(PMPI_Comm_size(comm_, &size_));
    }

    MPI_Comm comm() const { return comm_; }
    Rank rank() const override { return {rank_}; }
    int size() const override { return size_; }
    std::string_view kind() const override { return "mpi"; }
    bool one_process() const override { return size_ == 1; }
    const Placement& hosts() const override { return hosts_; }
    bool has_ended() const override { return mpi_is_over(); }
    std::unique_ptr<World> split(std::optional<int> group) override;

protected:
    // Exchanges the host names; call it when the derived class can gather.
    void learn_hosts() {
        char name[MPI_MAX_PROCESSOR_NAME] = {};
        int length = 0;
        check(PMPI_Get_processor_name(name, &length));
        RanksOnHosts ranks = ranks_on_hosts(*this, name, cores_of_this_host(), cards_used_by_mpi());
        hosts_ = std::move(ranks.hosts);
        processes = std::move(ranks.processes);
        oversubscribed = ranks.are_oversubscribed;
        links = ranks.links;
    }

    Placement hosts_;
    MPI_Comm comm_;

private:
    int rank_ = 0;
    int size_ = 1;
};

// Does not use MPI_Comm_dup, which would call the program's attribute copy functions.
MPI_Comm duplicate(MPI_Comm comm) {
    const ErrorsReturn meanwhile(comm);
    MPI_Group ranks = MPI_GROUP_NULL;
    check(PMPI_Comm_group(comm, &ranks));
    MPI_Comm copy = MPI_COMM_NULL;
    const int code = PMPI_Comm_create(comm, ranks, &copy);
    PMPI_Group_free(&ranks);
    check(code);
    return copy;
}

// Uses blocking collectives on the program's communicator. Non-blocking ones would be wrong there:
// Open MPI 4 implements MPI_Comm_idup by non-blocking collectives, and starts each when the
// previous one has completed. Those of tutti would then start in a different order on each rank.
class WorldOfProgram final : public RanksOfMpi {
public:
    WorldOfProgram(MPI_Comm comm, double timeout) : RanksOfMpi(comm) {
        hang_timeout = timeout;
        learn_hosts();
    }

    void barrier() override {
        const ErrorsReturn meanwhile(comm_);
        check(mpi_collectives.barrier(comm_));
    }

    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        if (mine.empty()) return;
        const ErrorsReturn meanwhile(comm_);
        check(mpi_collectives.all_gather(mine.data(), count_of(mine), MPI_BYTE, all.data(),
                                         count_of(mine), MPI_BYTE, comm_));
    }

    void broadcast(std::span<std::byte> data) override {
        if (data.empty()) return;
        const ErrorsReturn meanwhile(comm_);
        check(mpi_collectives.broadcast(data.data(), count_of(data), MPI_BYTE, 0, comm_));
    }
};

// Uses non-blocking operations, so that it detects a rank that never joins.
class MpiWorld final : public RanksOfMpi {
public:
    // Takes ownership of the communicator. Determines the ranks' hosts unless `hosts` is given.
    explicit MpiWorld(MPI_Comm comm, std::optional<double> timeout = {},
                      std::optional<Placement> hosts = {})
        : RanksOfMpi(comm) {
        if (timeout) hang_timeout = *timeout;
        check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
        if (hosts)
            hosts_ = std::move(*hosts);
        else
            learn_hosts();
    }
    ~MpiWorld() override { free_unless_over(comm_); }

    void barrier() override {
        refuse_if_over();
        MPI_Request request;
        check(PMPI_Ibarrier(comm_, &request));
        finish(std::span(&request, 1), "a barrier");
    }

    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        refuse_if_over();
        if (mine.empty()) return;
        // Bruck's algorithm: in round k, a rank sends up to 2^k blocks to the rank 2^k places
        // before it. Open MPI's MPI_Iallgather sends one message to each rank, so each rank
        // connects to all others.
        const std::size_t bytes = mine.size();
        auto memory = std::make_unique<Memory>(mine.begin(), mine.end());
        memory->resize(bytes * as_size(size()));
        for (int known = 1; known < size(); known *= 2) {
            const std::span<std::byte> blocks(*memory);
            const std::size_t length = bytes * as_size(std::min(known, size() - known));
            const auto sent = blocks.first(length),
                       received = blocks.subspan(bytes * as_size(known), length);
            const int to = (rank().index + size() - known) % size();
            const int from = (rank().index + known) % size();
            MPI_Request requests[2];
            Memory* const kept = memory.release();
            check(PMPI_Irecv(received.data(), count_of(received), MPI_BYTE, from, tag_of_gather,
                             comm_, &requests[0]));
            check(PMPI_Isend(sent.data(), count_of(sent), MPI_BYTE, to, tag_of_gather, comm_,
                             &requests[1]));
            finish(requests, "an all-gather of setup data");
            memory.reset(kept);
        }
        // The memory begins with this rank's block.
        const std::size_t blocks_before = bytes * as_size(rank().index);
        std::ranges::rotate_copy(
            *memory, memory->end() - static_cast<std::ptrdiff_t>(blocks_before), all.begin());
    }

    void broadcast(std::span<std::byte> data) override {
        refuse_if_over();
        if (data.empty()) return;
        MPI_Request request;
        auto memory = std::make_unique<Memory>(data.begin(), data.end());
        check(PMPI_Ibcast(memory->data(), count_of(data), MPI_BYTE, 0, comm_, &request));
        Memory* const kept = memory.release();
        finish(std::span(&request, 1), "a broadcast from rank 0");
        memory.reset(kept);
        std::ranges::copy(*memory, data.begin());
    }

    void sleeping_barrier(double seconds) override {
        MPI_Request request;
        check(PMPI_Ibarrier(comm_, &request));
        AwakeTime waited;
        const double limit = seconds + hang_timeout * barrier_timeout_factor;
        for (int done = 0;;) {
            check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
            if (done != 0) return;
            heartbeat();
            make_progress();
            const timespec a_while{.tv_sec = 0, .tv_nsec = 200'000};
            nanosleep(&a_while, nullptr);
            if (waited.look_seconds() > limit) give_up("ranks at work", limit / hang_timeout);
        }
    }

private:
    static constexpr int tag_of_roll_call = 1, tag_of_gather = 2;

    static void refuse_if_over() {
        if (mpi_is_over())
            throw Error("MPI has ended; release objects that use its ranks before MPI_Finalize",
                        Exit::rank_lost);
    }

    // The buffer of an exchange. A late rank may still write to it, so it is not freed if this rank
    // stops waiting.
    using Memory = std::vector<std::byte>;
    void finish(std::span<MPI_Request> requests, const char* what) {
        Backoff backoff(*this, barrier_timeout_factor);
        for (int done = 0;;) {
            heartbeat();  // also during a wait, which has its own deadline
            check(PMPI_Testall(int_size(requests), requests.data(), &done, MPI_STATUSES_IGNORE));
            if (done != 0) return;
            make_progress();
            if (!backoff.pause()) give_up(what, barrier_timeout_factor);
        }
    }

    [[noreturn]] void give_up(const char* what, double times) {
        const auto absent = ranks_without_answer();
        throw Error(waited_for(*this, what, times, absent), Exit::time_out);
    }

    // Calls the roll among the ranks that give up: they began to wait at about the same time, so
    // all but the missing ranks answer soon. The library's call cannot tell which ranks are
    // missing.
    std::vector<Rank> ranks_without_answer() {
        constexpr double seconds = 1.5;
        // Never freed, because open messages may complete later.
        static const char here = 1;
        auto& answers = *new std::vector<char>(as_size(size()));
        std::vector<MPI_Request> requests(2 * answers.size(), MPI_REQUEST_NULL);
        for (int rank = 0; rank < size(); ++rank) {
            PMPI_Irecv(&at(answers, rank), 1, MPI_CHAR, rank, tag_of_roll_call, comm_,
                       &at(requests, rank));
            PMPI_Isend(&here, 1, MPI_CHAR, rank, tag_of_roll_call, comm_,
                       &at(requests, size() + rank));
        }
        AwakeTime waited;
        for (int done = 0; done == 0 && waited.look_seconds() < seconds; sched_yield())
            if (PMPI_Testall(int_size(requests), requests.data(), &done, MPI_STATUSES_IGNORE) !=
                MPI_SUCCESS)
                break;  // a peer has ended: the ranks that answered are known
        std::vector<Rank> absent;
        for (int rank = 0; rank < size(); ++rank)
            if (at(answers, rank) == 0) absent.push_back({rank});
        return absent;
    }
};

// The part has a communicator of its own, where non-blocking collectives disturb no program.
std::unique_ptr<World> RanksOfMpi::split(std::optional<int> group) {
    const auto members = ranks_of_group(*this, group);
    MPI_Comm comm = MPI_COMM_NULL;
    {
        const ErrorsReturn meanwhile(comm_);
        check(PMPI_Comm_split(comm_, members.empty() ? MPI_UNDEFINED : members.front().index,
                              rank().index, &comm));
    }
    if (members.empty()) return nullptr;
    auto part = std::make_unique<MpiWorld>(comm, hang_timeout, hosts_.renamed(members));
    for (const Rank member : members) part->processes.push_back(at(processes, member));
    part->oversubscribed = oversubscribed;
    part->links = links;
    part->background = background;
    part->parent = this;
    return part;
}

class MpiEndpoint final : public Endpoint {
public:
    MpiEndpoint(MPI_Comm comm, const EndpointNeeds& needs, int tag) : comm_(comm), tag_(tag) {
        requests_.reserve(needs.most_posts);
        peers_.reserve(needs.most_posts);
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        check(PMPI_Irecv(into.data(), count_of(into), MPI_BYTE, from.index, tag_, comm_,
                         &next_request(from)));
    }

    void post_send(int, Rank to, std::span<const std::byte> message) override {
        check(PMPI_Isend(message.data(), count_of(message), MPI_BYTE, to.index, tag_, comm_,
                         &next_request(to)));
    }

    bool all_done() override {
        int done = 0;
        check(PMPI_Testall(int_size(requests_), requests_.data(), &done, MPI_STATUSES_IGNORE));
        if (done != 0) {
            requests_.clear();
            peers_.clear();
        }
        return done != 0;
    }

    std::optional<Rank> waits_for() const override {
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            MPI_Request request = requests_[i];
            int done = 0;
            PMPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
            if (done == 0) return peers_[i];
        }
        return std::nullopt;
    }

private:
    MPI_Request& next_request(Rank peer) {
        peers_.push_back(peer);
        return requests_.emplace_back(MPI_REQUEST_NULL);
    }

    MPI_Comm comm_;
    int tag_;
    std::vector<MPI_Request> requests_;
    std::vector<Rank> peers_;
};

class MpiMessages final : public MessageTransport, public Progressable {
public:
    // Ranks in messages are those of the world.
    explicit MpiMessages(World& world)
        : world_(world), comm_(duplicate(communicator_of(mpi_handle(world)))) {
        check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
        int* highest = nullptr;
        int found = 0;
        check(PMPI_Comm_get_attr(comm_, MPI_TAG_UB, &highest, &found));
        if (found != 0) tags_ = *highest;
        world_.register_progress(*this);
    }
    ~MpiMessages() override {
        world_.unregister_progress(*this);
        free_unless_over(comm_);
    }

    std::string_view name() const override { return "mpi"; }

    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<MpiEndpoint>(comm_, needs, needs.plan % tags_);
    }

    // The library may still hold a message whose send is complete. It goes on in any call, if that
    // finds no message: none has this tag.
    void make_progress() override {
        if (mpi_is_over()) return;
        int is_here = 0;
        check(PMPI_Iprobe(MPI_ANY_SOURCE, tags_, comm_, &is_here, MPI_STATUS_IGNORE));
    }

private:
    World& world_;
    MPI_Comm comm_;
    int tags_ = 32767;  // the minimum that MPI guarantees
};

}  // namespace

std::optional<std::string> mpi_missing() { return std::nullopt; }

std::vector<NetworkDevice> cards_used_by_mpi() {
#ifdef OPEN_MPI
    constexpr std::array settings{"OMPI_MCA_btl_tcp_if_include",
                                  "OMPI_MCA_btl_tcp_if_exclude",
                                  "OMPI_MCA_btl_tcp_eager_limit",
                                  "OMPI_MCA_btl_tcp_links",
                                  "OMPI_MCA_btl",
                                  "OMPI_MCA_pml"};
    if (std::ranges::all_of(settings,
                            [](const char* name) { return std::getenv(name) == nullptr; }))
        return cards_of_this_host();
#endif
    return {};
}

MpiSession::MpiSession() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
    world_ = mpi_world(number_of(MPI_COMM_WORLD));
}

MpiSession::~MpiSession() {
    world_.reset();
    MPI_Finalize();
}

std::unique_ptr<World> mpi_world(int number, std::optional<double> hang_timeout) {
    int has_begun = 0;
    PMPI_Initialized(&has_begun);
    if (has_begun == 0 || mpi_is_over())
        throw Error(
            "MPI is not initialized; use its communicators between MPI_Init and MPI_Finalize");
    const MPI_Comm comm = number == mpi_comm_world ? MPI_COMM_WORLD : communicator_of(number);
    if (comm == MPI_COMM_NULL) throw Error("there are no ranks in MPI_COMM_NULL");
    return std::make_unique<MpiWorld>(duplicate(comm), hang_timeout);
}

std::unique_ptr<World> world_on_programs_communicator(int number, double hang_timeout) {
    return std::make_unique<WorldOfProgram>(communicator_of(number), hang_timeout);
}

void maximize_over_ranks(MPI_Comm comm, std::span<std::int64_t> values) {
    const ErrorsReturn meanwhile(comm);
    check(mpi_collectives.all_reduce(MPI_IN_PLACE, values.data(), int_size(values), MPI_INT64_T,
                                     MPI_MAX, comm));
}

int mpi_handle(const World& world) {
    const auto* mpi = dynamic_cast<const RanksOfMpi*>(&world);
    if (mpi == nullptr) throw Error(*ranks_are_not_of_mpi(world));
    return number_of(mpi->comm());
}

std::unique_ptr<MessageTransport> mpi_transport(World& world) {
    return std::make_unique<MpiMessages>(world);
}

}  // namespace tutti
