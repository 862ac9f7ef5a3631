// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

/// Another rank has failed, so this one ends, too, without an error of its own.
class OthersFailed : public Error {
public:
    OthersFailed() : Error("another rank has failed", Exit::rank_lost) {}
};

/// Work that advances only when called, such as messages of a library without a progress thread.
class Progressable {
public:
    virtual void make_progress() = 0;

protected:
    ~Progressable() = default;
};

/// The ranks of one run and their collective operations outside of measured time, like an MPI
/// communicator. Every wait has a deadline; after it, calls throw Error with Exit::time_out and the
/// reason.
class World {
public:
    virtual ~World() = default;

    virtual Rank rank() const = 0;
    virtual int size() const = 0;
    bool is_first() const { return rank().index == 0; }

    /// "threads", "mpi", or "processes" (joined by a rendezvous).
    virtual std::string_view kind() const = 0;
    /// Whether all ranks are threads of this process.
    virtual bool one_process() const = 0;

    /// Whether the ranks can no longer communicate (after MPI_Finalize): collective calls then
    /// throw Error.
    virtual bool has_ended() const { return false; }

    virtual void barrier() = 0;
    /// Gathers every rank's `mine` (the same size on all), in rank order. Does not wait if it is
    /// empty.
    virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    /// Copies `data` of rank 0 to all ranks.
    virtual void broadcast(std::span<std::byte> data) = 0;

    /// A barrier in which ranks sleep, so that a rank that works for up to `seconds` more has the
    /// machine to itself. Takes up to a millisecond longer than barrier().
    virtual void sleeping_barrier(double seconds) {
        (void)seconds;
        barrier();
    }

    /// Returns the ranks that pass the same group as a new world, in the same order, valid as long
    /// as this one; null on ranks that pass none. Groups may communicate and run plans at the same
    /// time. Collective over all ranks of this world.
    virtual std::unique_ptr<World> split(std::optional<int> group);

    /// Returns the ranks of this rank's host as a new world; null if all are on one host.
    /// Collective.
    std::unique_ptr<World> of_host();

    /// Throws Error (rank_lost) that names a rank which ended unexpectedly, if this world can
    /// detect that. For waits of plans, which see only shared memory. Costs a system call.
    virtual void throw_if_lost() {}

    /// Returns which ranks share a host and, if they were bound from the start, a package, a NUMA
    /// node or a cache.
    virtual const Placement& hosts() const = 0;
    bool one_host() const { return hosts().nodes().size() == 1; }
    /// Returns the ranks of this rank's host, ascending.
    const std::vector<Rank>& ranks_of_host() const;
    /// Whether this rank is the first of its host, which acts for the host.
    bool is_leader() const { return ranks_of_host().front() == rank(); }

    /// A number for each rank's process, different for all processes; empty if not known.
    std::vector<std::uint64_t> processes;

    /// Grows with each collective call: shows a watchdog that this rank is alive.
    std::atomic<long> heartbeats{0};
    /// Counts in this world and all its parents.
    void heartbeat() {
        heartbeats.fetch_add(1, std::memory_order_relaxed);
        if (parent != nullptr) parent->heartbeat();
    }

    /// The world that this one was split from, if any.
    World* parent = nullptr;

    /// Between registering and unregistering, `one` makes progress while this rank waits in any
    /// part of the whole world: a peer may first need the rest of a message that this rank has
    /// sent, or a collective of another group.
    void register_progress(Progressable& one) { whole().progressables_.push_back(&one); }
    void unregister_progress(Progressable& one) { std::erase(whole().progressables_, &one); }
    void make_progress() {
        for (Progressable* one : whole().progressables_) one->make_progress();
    }

    /// Returns the T that is cached with these ranks (like an attribute of an MPI communicator),
    /// e.g. a library's own communicator; `make` makes it on first use.
    template <class T, class Make>
    T& attribute(Make&& make) {
        auto& place = attributes_[typeid(T)];
        if (place == nullptr) place = std::shared_ptr<T>(make());
        return *static_cast<T*>(place.get());
    }

    /// Seconds until a wait gives up.
    double hang_timeout = 30;
    /// Some machine has more ranks than cores: waits yield the core at once. Containers of one
    /// machine share its cores.
    bool oversubscribed = false;
    /// The kernel is known to refuse copies between the ranks' processes, see
    /// peer_memory_refuses().
    bool refuses_peer_memory = false;
    /// Equal links of each host, to networks that all ranks share, among which the MPI library
    /// divides long messages; 1 if it divides none, or if that is unknown.
    int links = 1;
    /// Other threads of the processes compute during calls: a waiting rank sleeps early and is
    /// woken, because yielding would keep it off its core for a whole time slice.
    bool background = false;

    /// Returns the world of all ranks.
    World& whole() { return parent == nullptr ? *this : parent->whole(); }

    /// This rank failed a call; peers may still be inside it, so teardown must not block. The peers
    /// treat this rank as lost.
    bool has_given_up = false;

private:
    std::vector<Progressable*> progressables_;  // used only in the world of all ranks
    std::map<std::type_index, std::shared_ptr<void>> attributes_;
};

/// Gathers the value of every rank, in rank order. T is trivially copyable. Collective.
template <class T>
std::vector<T> gather_all(World& world, const T& mine) {
    std::vector<T> all(as_size(world.size()));
    world.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
}

/// Returns the logical and over all ranks. Collective.
inline bool true_on_all_ranks(World& world, bool mine) {
    const auto all = gather_all(world, static_cast<char>(mine));
    return std::find(all.begin(), all.end(), char{0}) == all.end();
}

/// Returns the value of rank 0 on all ranks. T is trivially copyable. Collective.
template <class T>
T from_rank0(World& world, T value) {
    world.broadcast(std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

/// Gathers the text of every rank, in rank order. Collective.
std::vector<std::string> gather_all_texts(World& world, const std::string& mine);

/// If any rank has a `problem` (null: none here), all throw Error "WHAT: PROBLEM" of the first such
/// rank, so that no rank waits for the others. Collective.
void fail_together(World& world, const std::string& what, const char* problem);

/// Returns why a rank lacks something (`here`: the reason on this rank): nothing if all ranks have
/// it, else the same text on all. If only some lack it, the text names the first of them and its
/// host. Collective.
std::optional<std::string> missing_on_any(World& world, const std::optional<std::string>& here);

/// Returns the result of `make` on this rank. If it throws on any rank, e.g. out of memory, all
/// ranks throw Error with the first such message. Collective; `make` need not be.
template <class Make>
auto make_on_all_ranks(World& world, const std::string& what, Make&& make) {
    decltype(make()) made{};
    std::string problem;
    try {
        made = make();
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost: the others detect that
        problem = error.what();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    fail_together(world, what, problem.empty() ? nullptr : problem.c_str());
    return made;
}

/// Returns the ranks that pass the same group as this one, in order; empty if it passes none.
/// Collective.
std::vector<Rank> ranks_of_group(World& world, std::optional<int> group);

/// "rank 2", "one of ranks 1, 2".
std::string one_of(std::span<const Rank> ranks);

/// Returns the report of a wait outside of plans that has lasted `times` hang timeouts: "rank 0
/// waited 12 s for a barrier in all_reduce ring (shm) 4 KiB: no answer from rank 2". `absent`:
/// ranks known to be late; may be empty.
std::string waited_for(const World& world, const std::string& what, double times,
                       std::span<const Rank> absent);

/// Makes a world of one rank, of kind "threads".
std::unique_ptr<World> world_of_one();

/// Runs body(world) as `ranks` threads of this process and waits for all. If some throw, the others
/// are released from their waits; the first real reason is thrown here.
void run_as_threads(int ranks, double hang_timeout, const std::function<void(World&)>& body);

/// Sets the activity of this process, for reports of a wait: "all_reduce ring (shm) 4 KiB".
[[gnu::visibility("hidden")]] void set_activity(const std::string& what);

/// Returns the latest activity; empty before the first.
[[gnu::visibility("hidden")]] std::string activity();

/// Returns the activity as part of a sentence: " in all_reduce ring (shm) 4 KiB"; empty if there is
/// none.
[[gnu::visibility("hidden")]] std::string in_activity();

}  // namespace tutti
#pragma GCC visibility pop
