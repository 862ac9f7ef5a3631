// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "base/error.hpp"
#include "base/index.hpp"
#include "topology/placement/placement.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Another rank has failed, so this one ends too; it has nothing of its own to report.
class OthersFailed : public Error {
public:
    OthersFailed() : Error("another rank has failed", Exit::rank_lost) {}
};

/// What only moves on while someone calls it, such as messages of a library without a thread.
class Progressable {
public:
    virtual void make_progress() = 0;

protected:
    ~Progressable() = default;
};

/// The ranks of one run and what they do together outside of measured time, as a communicator of
/// MPI. Every wait has a deadline; past it calls throw Error with Exit::time_out, saying what for.
class World {
public:
    virtual ~World() = default;

    virtual Rank rank() const = 0;
    virtual int size() const = 0;
    bool is_first() const { return rank().index == 0; }

    /// "threads", "mpi", or "processes" that have met by a rendezvous.
    virtual std::string_view kind() const = 0;
    /// Whether all ranks are threads of this process.
    virtual bool one_process() const = 0;

    /// The ranks can no longer communicate (after MPI_Finalize): collective calls throw Error.
    virtual bool has_ended() const { return false; }

    virtual void barrier() = 0;
    /// Everyone's `mine` (the same size on all), in rank order. Nothing is waited for where it is
    /// empty.
    virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    /// `data` of rank 0 everywhere.
    virtual void broadcast(std::span<std::byte> data) = 0;

    /// A barrier for which the ranks sleep, so that one that works for up to so many seconds more
    /// has the machine to itself. Takes up to a millisecond longer than barrier().
    virtual void sleeping_barrier(double seconds) {
        (void)seconds;
        barrier();
    }

    /// The ranks that name the same group, as a world of their own in their order here, valid as
    /// long as this one; none for those who name none. Groups may communicate and run plans at the
    /// same time. Collective over all ranks of this world.
    virtual std::unique_ptr<World> split(std::optional<int> group);

    /// The ranks of this rank's host as a world of their own; none where all are on one host.
    /// Collective.
    std::unique_ptr<World> of_host();

    /// Throws Error (rank_lost), naming the rank, where these ranks can tell that one has ended in
    /// the middle; for waits of plans, which see shared memory alone. A system call.
    virtual void throw_if_lost() {}

    /// Which ranks share a host.
    virtual const Placement& hosts() const = 0;
    bool one_host() const { return hosts().nodes().size() == 1; }
    /// The ranks of this rank's host, ascending.
    const std::vector<Rank>& ranks_of_host() const;
    /// Whether this is the first of them, which speaks for the host.
    bool is_leader() const { return ranks_of_host().front() == rank(); }

    /// Grows with each collective call: shows a watchdog that this rank is alive.
    std::atomic<long> heartbeats{0};
    /// Counted for this world and all that it is a part of.
    void heartbeat() {
        heartbeats.fetch_add(1, std::memory_order_relaxed);
        if (parent != nullptr) parent->heartbeat();
    }

    /// The world that this one was split from, if any.
    World* parent = nullptr;

    /// From registering to unregistering, `one` makes progress while this rank waits for others in
    /// any part of the whole world: a peer may first wait for the rest of a message that this rank
    /// has sent, or for a collective of another group.
    void register_progress(Progressable& one) { whole().progressables_.push_back(&one); }
    void unregister_progress(Progressable& one) { std::erase(whole().progressables_, &one); }
    void make_progress() {
        for (Progressable* one : whole().progressables_) one->make_progress();
    }

    /// The T that is cached with these ranks (as MPI's attributes of a communicator), such as a
    /// library's own communicator; made by `make` when first asked for.
    template <class T, class Make>
    T& attribute(Make&& make) {
        auto& place = attributes_[typeid(T)];
        if (place == nullptr) place = std::shared_ptr<T>(make());
        return *static_cast<T*>(place.get());
    }

    /// Seconds after which a wait gives up.
    double hang_timeout = 30;
    /// More ranks on some machine than cores to run them: waiting then yields the core at once.
    /// Hosts that are containers of one machine share its cores.
    bool oversubscribed = false;
    /// Other threads of the processes compute during calls: a rank that waits sleeps early, and is
    /// woken, as yielding would keep it off its core for a whole time slice.
    bool background = false;

    /// The world of all ranks, whatever part this is.
    World& whole() { return parent == nullptr ? *this : parent->whole(); }

    /// A call has failed here that others may still be in: what ends on this rank waits for nobody,
    /// and the others are to take it for lost.
    bool has_given_up = false;

private:
    std::vector<Progressable*> progressables_;  // of the whole world only
    std::map<std::type_index, std::shared_ptr<void>> attributes_;
};

/// The value of every rank, in rank order. T is trivially copyable. Collective.
template <class T>
std::vector<T> gather_all(World& world, const T& mine) {
    std::vector<T> all(as_size(world.size()));
    world.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
}

/// The logical and over all ranks; the same answer on each. Collective.
inline bool true_on_all_ranks(World& world, bool mine) {
    const auto all = gather_all(world, static_cast<char>(mine));
    return std::find(all.begin(), all.end(), char{0}) == all.end();
}

/// The value of rank 0, on all ranks. T is trivially copyable. Collective.
template <class T>
T from_rank0(World& world, T value) {
    world.broadcast(std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

/// The text of every rank, in rank order. Collective.
std::vector<std::string> gather_all_texts(World& world, const std::string& mine);

/// If any rank has a `problem` (null: none here), all throw Error "WHAT: PROBLEM" of the first such
/// rank, where otherwise some would wait for the others. Collective.
void fail_together(World& world, const std::string& what, const char* problem);

/// Why a rank lacks something (`here`: why this one does): nothing if all ranks have it, else the
/// same words on all; if only some lack it, with the first of them and its host. Collective.
std::optional<std::string> missing_on_any(World& world, const std::optional<std::string>& here);

/// What `make` gives on this rank. If it throws on any, as out of memory, all ranks throw Error in
/// the first one's words. Collective; `make` need not be.
template <class Make>
auto make_on_all_ranks(World& world, const std::string& what, Make&& make) {
    decltype(make()) made{};
    std::string problem;
    try {
        made = make();
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost: the others miss it
        problem = error.what();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    fail_together(world, what, problem.empty() ? nullptr : problem.c_str());
    return made;
}

/// The ranks that name the same group as this one, in order; none if it names none. Collective.
std::vector<Rank> ranks_of_group(World& world, std::optional<int> group);

/// "rank 2", "one of ranks 1, 2".
std::string one_of(std::span<const Rank> ranks);

/// The report of a wait outside of plans that has lasted `times` hang timeouts: "rank 0 waited 12 s
/// for a barrier in all_reduce ring (shm) 4 KiB: no answer from rank 2". `absent`: who is known not
/// to have come; may be empty.
std::string waited_for(const World& world, const std::string& what, double times,
                       std::span<const Rank> absent);

/// A rank that is alone, of kind "threads".
std::unique_ptr<World> world_of_one();

/// Runs body(world) as `ranks` threads of this process and waits for all. If some throw, the others
/// are released from their waits; the first real reason is thrown here.
void run_as_threads(int ranks, double hang_timeout, const std::function<void(World&)>& body);

}  // namespace tutti
#pragma GCC visibility pop
