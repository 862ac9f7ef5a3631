// SPDX-License-Identifier: Apache-2.0
#include "tests/collectives/find_race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/index.hpp"

namespace tutti {
namespace {

// The progress of a rank in a run: 0 it may not have begun, 1 it has begun (its input is in place),
// 1 + n it has finished n of its steps. Two more moments follow that no counter shows: early
// settling, and the end, when late settling, the user and the next run may write any place of the
// rank.
using Moment = int;

constexpr Moment begun = 1;
constexpr Moment after(std::size_t steps) { return begun + static_cast<Moment>(steps); }

// A rank's knowledge of all ranks at one of its moments: a vector clock.
using Knowledge = std::vector<Moment>;

void learn(Knowledge& mine, const Knowledge& other) {
    for (std::size_t rank = 0; rank < mine.size(); ++rank)
        mine[rank] = std::max(mine[rank], other[rank]);
}

// Places are apart unless they are the same: this proves the programs for calls of every length.
std::string to_text(ChunkPlace place) {
    const char* memory = place.in == ChunkPlace::In::slot            ? "slot"
                         : place.in == ChunkPlace::In::input         ? "input's position"
                         : place.in == ChunkPlace::In::copy_of_input ? "copied input's position"
                                                                     : "output's position";
    return fmt::format("{} {}", memory, place.number);
}

class Prover {
public:
    explicit Prover(std::span<const RankProgram> programs)
        : programs_(programs), known_(programs.size()), known_at_posts_(programs.size()) {}

    std::optional<std::string> find() {
        if (!follow_dependencies()) return endless_wait();
        for (std::size_t reader = 0; reader < programs_.size() && !race_; ++reader)
            check_reads_of(reader);
        for (std::size_t pusher = 0; pusher < programs_.size() && !race_; ++pusher)
            check_pushes_of(pusher);
        return race_;
    }

private:
    // Moments are numbered consecutively: the start, each step, early settling, the end.
    std::size_t moments_of(std::size_t rank) const { return programs_[rank].steps.size() + 3; }
    std::size_t settling_of(std::size_t rank) const { return programs_[rank].steps.size() + 1; }
    std::size_t end_of(std::size_t rank) const { return programs_[rank].steps.size() + 2; }

    std::span<const Dependency> dependencies_at(std::size_t rank, std::size_t moment) const {
        const RankProgram& program = programs_[rank];
        if (moment == end_of(rank)) return program.last_readers;
        if (moment == 0 || moment == settling_of(rank)) return {};
        return program.steps[moment - 1].dependencies;
    }

    // Returns the steps that the peer is known to have finished once a dependency is met.
    std::size_t steps_met(const Dependency& dependency) const {
        const auto& steps = at(programs_, dependency.peer).steps;
        const auto first_open =
            std::partition_point(steps.begin(), steps.end(),
                                 [&](const ProgramStep& s) { return s.number < dependency.steps; });
        return static_cast<std::size_t>(first_open - steps.begin());
    }

    // Advances every rank as far as its dependencies allow, in any order: knowledge does not depend
    // on it.
    bool follow_dependencies() {
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
            Knowledge at_begin(programs_.size(), 0);
            at_begin[rank] = begun;
            known_[rank].push_back(at_begin);
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < programs_.size(); ++rank)
                while (goes_on(rank)) moved = true;
        }
        for (std::size_t rank = 0; rank < programs_.size(); ++rank)
            if (known_[rank].size() < moments_of(rank)) return false;
        return true;
    }

    bool goes_on(std::size_t rank) {
        const std::size_t moment = known_[rank].size();
        if (moment == moments_of(rank)) return false;
        Knowledge now = known_[rank].back();
        if (moment > 0 && moment < settling_of(rank)) {
            const ProgramStep& step = programs_[rank].steps[moment - 1];
            auto& at_posts = known_at_posts_[rank];
            if (at_posts.size() < moment) {
                if (!learns_by(step.before_messages, now)) return false;
                at_posts.push_back(now);
                if (step.has_messages()) return true;
            }
            now = at_posts.back();
            // Messages show nothing of other ranks' memory, but a step ends only after its
            // messages, and each needs both ends.
            for (const auto* messages : {&step.receives, &step.sends})
                for (const ChunkMessage& message : *messages)
                    if (!has_posted(message.peer, step.number)) return false;
        }
        if (!learns_by(dependencies_at(rank, moment), now)) return false;
        // The rank itself has then finished the step; settling is visible to no rank.
        now[rank] = after(std::min(moment, programs_[rank].steps.size()));
        known_[rank].push_back(std::move(now));
        return true;
    }

    // Adds what is known once these dependencies are met; returns false if they cannot be yet.
    bool learns_by(std::span<const Dependency> dependencies, Knowledge& now) const {
        for (const Dependency& dependency : dependencies) {
            const auto& of_peer = at(known_, dependency.peer);
            const std::size_t met = steps_met(dependency);
            if (of_peer.size() <= met) return false;
            learn(now, of_peer[met]);
        }
        return true;
    }

    bool has_posted(Rank peer, int step) const {
        const auto& steps = at(programs_, peer).steps;
        for (std::size_t i = 0; i < at(known_at_posts_, peer).size(); ++i)
            if (steps[i].number == step && steps[i].has_messages()) return true;
        return false;
    }

    std::string endless_wait() const {
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
            const std::size_t moment = known_[rank].size();
            if (moment == moments_of(rank)) continue;
            for (const Dependency& dependency : dependencies_at(rank, moment))
                if (at(known_, dependency.peer).size() <= steps_met(dependency))
                    return fmt::format(
                        "{} waits for ever for rank {} to finish the steps before {}",
                        name_of(rank, moment), dependency.peer.index, dependency.steps);
        }
        return "a message waits for ever for its other end";
    }

    std::string name_of(std::size_t rank, std::size_t moment) const {
        const auto& steps = programs_[rank].steps;
        if (moment == 0) return fmt::format("rank {} at its begin", rank);
        if (moment == settling_of(rank)) return fmt::format("rank {} settling its results", rank);
        if (moment == end_of(rank)) return fmt::format("rank {} at its end", rank);
        return fmt::format("rank {} at step {}", rank, steps[moment - 1].number);
    }

    void check_reads_of(std::size_t reader) {
        const auto& steps = programs_[reader].steps;
        for (std::size_t index = 0; index < steps.size(); ++index)
            for (const ChunkMove& move : steps[index].moves)
                for (const MovePlace& source : move.sources) {
                    if (!source.peer || race_) continue;
                    const auto owner = as_size(*source.peer);
                    const ChunkPlace place = place_of(reader, source);
                    check_read(reader, index, owner, place,
                               index + (is_read_late(steps[index], move, place) ? 2 : 1));
                }
    }

    // Returns where the rank reads: peers publish their places.
    ChunkPlace place_of(std::size_t rank, const MovePlace& source) const {
        if (source.place.in != ChunkPlace::In::published) return source.place;
        return at(programs_, *source.peer).published[rank][as_size(source.place.number)];
    }

    // Whether only the next step's counter shows that such a place has been read: data is first
    // read through the kernel, then this step's counter may be incremented, and then all is added.
    static bool is_read_late(const ProgramStep& step, const ChunkMove& move, ChunkPlace place) {
        const auto of_peers = std::ranges::count_if(
            move.sources, [](const MovePlace& source) { return source.peer.has_value(); });
        return step.keeps_results && of_peers > 1 && !place.is_of_caller();
    }

    // An access of a rank's step to a place of the owner.
    struct Access {
        std::size_t rank, index;
        const ChunkMove* move;
        ChunkPlace place;
        int step;  // step of the schedule that it replaces
        bool is_message = false, writes = false;
    };

    // Returns the steps that the rank's counter must show once the access is over: one more in a
    // step that keeps its results, unless it only reads a peer's data.
    std::size_t steps_until(const Access& access, std::size_t owner) const {
        const ProgramStep& step = programs_[access.rank].steps[access.index];
        const bool is_early =
            access.is_message || (access.rank != owner && !access.writes &&
                                  !is_read_late(step, *access.move, access.place));
        return access.index + (step.keeps_results && !is_early ? 2 : 1);
    }

    // Returns what the rank knows when it begins with the access.
    const Knowledge& known_at(const Access& access) const {
        return access.is_message ? known_at_posts_[access.rank][access.index]
                                 : known_[access.rank][access.index + 1];
    }

    void for_each_access(std::size_t owner, const std::function<void(const Access&)>& visit) const {
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
            const auto belongs = [&](const std::optional<Rank>& peer) {
                return peer ? as_size(*peer) == owner : rank == owner;
            };
            const auto& steps = programs_[rank].steps;
            for (std::size_t index = 0; index < steps.size(); ++index) {
                for (const auto* messages : {&steps[index].receives, &steps[index].sends})
                    for (const ChunkMessage& message : *messages)
                        for (const ChunkMessage::Part& part : message.parts)
                            if (rank == owner)
                                visit({rank, index, nullptr, part.place, steps[index].number,
                                       /*is_message=*/true});
                for (const ChunkMove& move : steps[index].moves) {
                    for (const MovePlace& target : move.targets)
                        if (belongs(target.peer))
                            visit({rank, index, &move, target.place,
                                   std::max(steps[index].number, target.for_step),
                                   /*is_message=*/false, /*writes=*/true});
                    for (const MovePlace& source : move.sources)
                        if (belongs(source.peer))
                            visit(
                                {rank, index, &move, place_of(rank, source), steps[index].number});
                }
            }
        }
    }

    void check_pushes_of(std::size_t pusher) {
        const auto& steps = programs_[pusher].steps;
        for (std::size_t index = 0; index < steps.size(); ++index)
            for (const ChunkMove& move : steps[index].moves)
                for (const MovePlace& target : move.targets)
                    if (target.peer && !race_)
                        check_push(as_size(*target.peer),
                                   {pusher, index, &move, target.place, target.for_step,
                                    /*is_message=*/false, /*writes=*/true});
    }

    // A push replaces a transfer of a later step: all accesses of earlier steps to the place must
    // be over before it, as must reads of that step itself; all other accesses must come after it.
    void check_push(std::size_t owner, const Access& push) {
        if (known_[push.rank][push.index + 1][owner] < begun)
            return report(fmt::format("{} pushes to {} of rank {}, which may not have begun",
                                      name_of(push.rank, push.index + 1), to_text(push.place),
                                      owner));
        for_each_access(owner, [&](const Access& other) {
            if (other.move == push.move || other.place != push.place) return;
            const bool is_before = other.step <= push.step;
            const Access& first = is_before ? other : push;
            const Access& then = is_before ? push : other;
            const bool in_order = first.rank == then.rank ? first.index < then.index
                                                          : known_at(then)[first.rank] >=
                                                                after(steps_until(first, owner));
            if (!in_order)
                report(fmt::format("{} pushes to {} of rank {}, which {} uses at the same time",
                                   name_of(push.rank, push.index + 1), to_text(push.place), owner,
                                   name_of(other.rank, other.index + 1)));
        });
        for (const std::size_t moment : {settling_of(owner), end_of(owner)}) {
            const bool uses =
                moment == end_of(owner) || uses_place(programs_[owner].settling_early, push.place);
            if (uses && known_[owner][moment][push.rank] < after(steps_until(push, owner)))
                report(fmt::format("{} pushes to {} of rank {}, which may be past that: {}",
                                   name_of(push.rank, push.index + 1), to_text(push.place), owner,
                                   name_of(owner, moment)));
        }
    }

    static bool uses_place(const std::vector<ChunkMove>& moves, ChunkPlace place) {
        return writes(moves, place) ||
               std::any_of(moves.begin(), moves.end(), [&](const ChunkMove& move) {
                   return move.sources.front().place == place;
               });
    }

    // The owner's writes before the reader's step must be over; those in it and later must wait
    // until the reader has finished `finished` steps.
    void check_read(std::size_t reader, std::size_t index, std::size_t owner, ChunkPlace place,
                    std::size_t finished) {
        const RankProgram& program = programs_[owner];
        const int step = programs_[reader].steps[index].number;
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const bool arrives = arrives_at(program.steps[i], place);
            if (!arrives && !writes(program.steps[i].moves, place)) continue;
            if (program.steps[i].number < step)
                must_follow(reader, index, owner, i + 1, place);
            else
                must_precede(reader, index, owner, i + 1, place, finished, arrives);
        }
        must_follow(reader, index, owner, 0, place);
        if (writes(program.settling_early, place))
            must_precede(reader, index, owner, settling_of(owner), place, finished);
        must_precede(reader, index, owner, end_of(owner), place, finished);
    }

    static bool arrives_at(const ProgramStep& step, ChunkPlace place) {
        return std::ranges::any_of(step.receives, [&](const ChunkMessage& message) {
            return std::ranges::find(message.parts, place, &ChunkMessage::Part::place) !=
                   message.parts.end();
        });
    }

    static bool writes(const std::vector<ChunkMove>& moves, ChunkPlace place) {
        return std::any_of(moves.begin(), moves.end(), [&](const ChunkMove& move) {
            return std::any_of(
                move.targets.begin(), move.targets.end(),
                [&](const MovePlace& target) { return !target.peer && target.place == place; });
        });
    }

    // If results are kept, the counter comes before the write.
    void must_follow(std::size_t reader, std::size_t index, std::size_t owner, std::size_t write,
                     ChunkPlace place) {
        const bool is_shown = write == 0 || !programs_[owner].steps[write - 1].keeps_results;
        if (is_shown && known_[reader][index + 1][owner] >= after(write)) return;
        report(fmt::format("{} reads {} of rank {} and may be too early: {} may still write there",
                           name_of(reader, index + 1), to_text(place), owner,
                           name_of(owner, write)));
    }

    void must_precede(std::size_t reader, std::size_t index, std::size_t owner, std::size_t write,
                      ChunkPlace place, std::size_t finished, bool by_message = false) {
        const Knowledge& known =
            by_message ? known_at_posts_[owner][write - 1] : known_[owner][write];
        if (known[reader] >= after(finished)) return;
        report(fmt::format("{} may overwrite {}, which {} may still read", name_of(owner, write),
                           to_text(place), name_of(reader, index + 1)));
    }

    void report(std::string text) {
        if (!race_) race_ = std::move(text);
    }

    std::span<const RankProgram> programs_;
    std::vector<std::vector<Knowledge>> known_;  // by rank, then moment, its dependencies met
    // By rank, then step: before its messages are posted.
    std::vector<std::vector<Knowledge>> known_at_posts_;
    std::optional<std::string> race_;
};

}  // namespace

std::optional<std::string> find_race(std::span<const RankProgram> programs) {
    return Prover(programs).find();
}

}  // namespace tutti
