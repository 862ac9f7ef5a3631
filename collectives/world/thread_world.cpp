// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/index.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/host_processes.hpp"
#include "collectives/world/world.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

// The state that the threads of one run share.
struct Team {
    explicit Team(int ranks, const Team* part_of = nullptr)
        : size(ranks),
          whole(part_of),
          hosts(Placement::one_node(ranks)),
          barriers_of(as_size(ranks)),
          sent(as_size(ranks)) {}

    // Also true if a rank outside this part of the whole has failed.
    bool has_failed() const {
        return failed.load(std::memory_order_relaxed) || (whole != nullptr && whole->has_failed());
    }

    int size;
    const Team* whole;
    Placement hosts;
    std::atomic<long> arrivals{0};               // at all barriers so far
    std::vector<std::atomic<long>> barriers_of;  // barriers that each rank has entered, for reports
    std::atomic<bool> failed{false};
    std::vector<std::span<const std::byte>> sent;  // data of each rank in the current exchange

    std::mutex mutex;
    std::exception_ptr reason;
};

class ThreadWorld : public World {
public:
    ThreadWorld(std::shared_ptr<Team> team, Rank rank)
        : shared_(std::move(team)), team_(*shared_), rank_(rank) {}

    Rank rank() const override { return rank_; }
    int size() const override { return team_.size; }
    std::string_view kind() const override { return "threads"; }
    bool one_process() const override { return true; }
    const Placement& hosts() const override { return team_.hosts; }

    void barrier() override {
        Backoff backoff(*this, barrier_timeout_factor);
        meet(barrier_timeout_factor, [&] { return backoff.pause(); });
    }

    void sleeping_barrier(double seconds) override {
        AwakeTime waited;
        const double limit = seconds + hang_timeout * barrier_timeout_factor;
        meet(limit / hang_timeout, [&] {
            heartbeat();
            const timespec a_while{.tv_sec = 0, .tv_nsec = 200'000};
            nanosleep(&a_while, nullptr);
            return waited.look_seconds() <= limit;
        });
    }

    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        exchange(mine, [&] {
            for (std::size_t i = 0; i < team_.sent.size(); ++i)
                if (!mine.empty())
                    std::memcpy(&all[i * mine.size()], team_.sent[i].data(), mine.size());
        });
    }

    void broadcast(std::span<std::byte> data) override {
        exchange(data, [&] {
            if (!is_first() && !data.empty())
                std::memcpy(data.data(), team_.sent[0].data(), data.size());
        });
    }

    std::unique_ptr<World> split(std::optional<int> group) override {
        const auto members = ranks_of_group(*this, group);
        std::shared_ptr<Team> part;
        if (!members.empty() && members.front() == rank_)
            part = std::make_shared<Team>(int_size(members), &team_);
        const auto parts = gather_all<const std::shared_ptr<Team>*>(*this, &part);
        if (!members.empty() && !part) {
            // No rank may continue before all have their part.
            part = *at(parts, members.front());
        }
        barrier();
        if (!part) return nullptr;
        const auto me = std::ranges::find(members, rank_) - members.begin();
        auto world = std::make_unique<ThreadWorld>(part, Rank{static_cast<int>(me)});
        world->hang_timeout = hang_timeout;
        world->oversubscribed = oversubscribed;
        world->background = background;
        world->parent = this;
        return world;
    }

private:
    // Arrivals are never reset; barrier number k is over at k * size of them. `pause` returns false
    // once the wait has lasted for `times` hang timeouts.
    template <class Pause>
    void meet(double times, Pause&& pause) {
        const long goal = ++barriers_ * team_.size;
        at(team_.barriers_of, rank_).store(barriers_, std::memory_order_relaxed);
        team_.arrivals.fetch_add(1, std::memory_order_acq_rel);
        while (team_.arrivals.load(std::memory_order_acquire) < goal) {
            if (team_.has_failed() && withdraw(goal)) throw OthersFailed();
            make_progress();
            if (!pause() && withdraw(goal))
                throw Error(waited_for(*this, "a barrier", times, absent_ranks()), Exit::time_out);
        }
    }

    // Takes back this rank's arrival; otherwise a late rank would read the data that this rank
    // exposes, which may be gone by then. Returns false if all have arrived by now.
    bool withdraw(long goal) {
        long arrivals = team_.arrivals.load(std::memory_order_acquire);
        while (arrivals < goal)
            if (team_.arrivals.compare_exchange_weak(arrivals, arrivals - 1)) return true;
        return false;
    }

    // Returns the ranks that have not reached this barrier.
    std::vector<Rank> absent_ranks() const {
        std::vector<Rank> absent;
        for (int rank = 0; rank < team_.size; ++rank)
            if (at(team_.barriers_of, rank).load(std::memory_order_relaxed) < barriers_)
                absent.push_back({rank});
        return absent;
    }

    // Every rank exposes its data between two barriers.
    template <class Read>
    void exchange(std::span<const std::byte> mine, Read&& read) {
        at(team_.sent, rank_) = mine;
        barrier();
        read();
        barrier();
    }

    std::shared_ptr<Team> shared_;
    Team& team_;
    Rank rank_;
    long barriers_ = 0;
};

}  // namespace

std::unique_ptr<World> world_of_one() {
    return std::make_unique<ThreadWorld>(std::make_shared<Team>(1), Rank{0});
}

void run_as_threads(int ranks, double hang_timeout, const std::function<void(World&)>& body) {
    const auto shared = std::make_shared<Team>(ranks);
    Team& team = *shared;
    static const std::optional<double> quota = cpu_quota("/");
    const bool oversubscribed =
        take_turns(ranks, static_cast<int>(std::thread::hardware_concurrency()), quota);
    const auto fail = [&] {
        const std::lock_guard lock(team.mutex);
        if (!team.reason) team.reason = std::current_exception();
        team.failed = true;
    };
    std::vector<std::thread> threads;
    const auto run_rank = [&](int rank) {
        ThreadWorld world(shared, Rank{rank});
        world.hang_timeout = hang_timeout;
        world.oversubscribed = oversubscribed;
        try {
            body(world);
        } catch (const OthersFailed&) {  // another rank reports the reason
            team.failed = true;
        } catch (...) {
            fail();
        }
    };
    try {
        for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run_rank, rank);
    } catch (const std::system_error&) {
        const std::lock_guard lock(team.mutex);
        if (!team.reason)
            team.reason = std::make_exception_ptr(
                Error("cannot start " + std::to_string(ranks) + " threads; use a smaller --ranks"));
        team.failed = true;
    }
    for (auto& thread : threads) thread.join();
    if (team.reason) std::rethrow_exception(team.reason);
    if (team.failed) throw OthersFailed();
}

}  // namespace tutti
