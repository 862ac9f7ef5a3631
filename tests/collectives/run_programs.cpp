// SPDX-License-Identifier: Apache-2.0
#include "tests/collectives/run_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace tutti {
namespace {

// A chunk, and how often each rank's share of it was added.
struct Value {
    int chunk = -1;  // -1: none
    std::map<int, int> shares;
    bool operator==(const Value&) const = default;
};

class Run {
public:
    Run(std::span<const RankProgram> programs, const CollectiveSpec& spec, int chunks,
        bool in_place, std::uint64_t seed)
        : programs_(programs),
          spec_(spec),
          chunks_(chunks),
          in_place_(in_place),
          dice_(seed),
          ranks_(programs.size()) {}

    std::optional<std::string> find_fault() {
        for (int rank = 0; rank < spec_.ranks(); ++rank) place_input(rank);
        std::vector<int> order(ranks_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        if (spec_.is_token()) {  // one rank comes when all others can do no more
            std::ranges::shuffle(order, dice_);
            const int late = order.back();
            order.pop_back();
            go_on(order);
            for (const int rank : order)
                if (at(ranks_, rank).is_done)
                    fault_ = fmt::format("rank {} leaves before rank {} enters", rank, late);
            order.push_back(late);
        }
        go_on(order);
        for (int rank = 0; rank < spec_.ranks() && !fault_; ++rank) check(rank);
        for (const auto& [between, messages] : messages_)
            if (!messages.empty() && !fault_)
                fault_ = fmt::format("a message from rank {} to {} is left over", between.first,
                                     between.second);
        return fault_;
    }

private:
    struct Progress {
        bool has_begun = false, has_posted = false, has_settled = false, is_done = false;
        std::size_t at = 0;
        std::vector<std::vector<Value>> sent;  // by the messages of the current step
    };

    void go_on(std::vector<int>& order) {
        for (bool moved = true; std::exchange(moved, false) && !fault_;) {
            std::ranges::shuffle(order, dice_);
            for (const int rank : order) moved = goes_on(rank) || moved;
        }
    }

    Positions positions_of(int rank) const { return {spec_, Rank{rank}, chunks_}; }
    const RankProgram& program(int rank) const { return programs_[as_size(rank)]; }
    Value& value(int rank, ChunkPlace place) { return memory_[{rank, place}]; }

    void place_input(int rank) {
        const Positions positions = positions_of(rank);
        const ChunkPlace input =
            in_place_ ? ChunkPlace{ChunkPlace::In::output, positions.first_input_in_place()}
                      : ChunkPlace{ChunkPlace::In::input};
        for (int chunk = 0; chunk < chunks_; ++chunk)
            if (const auto position = positions.in_input(chunk))
                value(rank, input.after(*position)) = {chunk, {{rank, 1}}};
    }

    void check(int rank) {
        if (!ranks_[as_size(rank)].is_done) {
            const auto& steps = program(rank).steps;
            const std::size_t at = ranks_[as_size(rank)].at;
            fault_ = fmt::format(
                "rank {} does not go on from {}", rank,
                at < steps.size() ? fmt::format("step {}", steps[at].number) : "its last step");
            return;
        }
        const Positions positions = positions_of(rank);
        const int first = in_place_ ? positions.first_output_in_place() : 0;
        for (int chunk = 0; chunk < chunks_; ++chunk) {
            const auto position = positions.in_output(chunk);
            if (!position) continue;
            Value expected{chunk, {}};
            if (spec_.reduces())
                for (int one = 0; one < spec_.summands(Rank{rank}); ++one) expected.shares[one] = 1;
            else
                expected.shares[spec_.source_of(chunk / (chunks_ / spec_.blocks())).index] = 1;
            if (value(rank, {ChunkPlace::In::output, first + *position}) != expected)
                fault_ = fmt::format("chunk {} of rank {} is wrong", chunk, rank);
        }
    }

    // Returns the steps of the schedule that the rank is seen to have finished; nothing before it
    // has begun.
    std::optional<int> finished(Rank rank) const {
        const Progress& of_rank = at(ranks_, rank);
        if (!of_rank.has_begun) return std::nullopt;
        const auto& steps = at(programs_, rank).steps;
        return of_rank.at < steps.size() ? steps[of_rank.at].number : INT_MAX;
    }

    bool are_met(const std::vector<Dependency>& dependencies) const {
        return std::ranges::all_of(dependencies, [&](const Dependency& one) {
            const auto steps = finished(one.peer);
            return steps && *steps >= one.steps;
        });
    }

    void do_moves(int rank, const std::vector<ChunkMove>& moves) {
        for (const ChunkMove& move : moves) {
            Value sum;
            for (const MovePlace& source : move.sources) {
                const Value& part = value(source.peer.value_or(Rank{rank}).index, source.place);
                if (sum.chunk < 0) sum.chunk = part.chunk;
                if (part.chunk != sum.chunk) sum.chunk = INT_MAX;  // mixes several chunks
                for (const auto& [share, count] : part.shares) sum.shares[share] += count;
            }
            for (const MovePlace& target : move.targets)
                value(target.peer.value_or(Rank{rank}).index, target.place) = sum;
        }
    }

    std::vector<Value> values_of(int rank, const ChunkMessage& message) {
        std::vector<Value> values;
        for (const auto& [chunk, place] : message.parts) values.push_back(value(rank, place));
        return values;
    }

    // A message may overwrite its place from now on.
    void post(int rank, const ProgramStep& step) {
        Progress& mine = ranks_[as_size(rank)];
        mine.sent.clear();
        for (const ChunkMessage& message : step.sends) {
            mine.sent.push_back(values_of(rank, message));
            messages_[{rank, message.peer.index}].push_back(mine.sent.back());
        }
        for (const ChunkMessage& message : step.receives)
            for (const auto& [chunk, place] : message.parts) value(rank, place) = {};
        for (std::size_t i = 0; i < step.sends.size(); ++i)
            if (values_of(rank, step.sends[i]) != mine.sent[i])
                fault_ = fmt::format("rank {} receives in step {} where it sends from", rank,
                                     step.number);
    }

    bool have_arrived(int rank, const ProgramStep& step) {
        return std::ranges::all_of(step.receives, [&](const ChunkMessage& message) {
            return !messages_[{message.peer.index, rank}].empty();
        });
    }

    void receive(int rank, const ProgramStep& step) {
        const Progress& mine = ranks_[as_size(rank)];
        for (std::size_t i = 0; i < step.sends.size(); ++i)
            if (values_of(rank, step.sends[i]) != mine.sent[i])
                fault_ = fmt::format("a message of rank {} to {} was changed in step {}", rank,
                                     step.sends[i].peer.index, step.number);
        for (const ChunkMessage& message : step.receives) {
            auto& arrived = messages_[{message.peer.index, rank}];
            if (arrived.front().size() != message.parts.size())
                fault_ = fmt::format("rank {} expects another message from {} in step {}", rank,
                                     message.peer.index, step.number);
            for (std::size_t i = 0; i < message.parts.size() && !fault_; ++i) {
                if (arrived.front()[i].chunk != message.parts[i].chunk && !spec_.is_token())
                    fault_ = fmt::format("rank {} expects another chunk from {} in step {}", rank,
                                         message.peer.index, step.number);
                value(rank, message.parts[i].place) = arrived.front()[i];
            }
            arrived.pop_front();
        }
    }

    // Does one thing, if the rank can.
    bool goes_on(int rank) {
        Progress& mine = ranks_[as_size(rank)];
        const RankProgram& program = this->program(rank);
        if (!mine.has_begun) {
            do_moves(rank, program.prologue);
            return mine.has_begun = true;
        }
        if (mine.at < program.steps.size()) {
            const ProgramStep& step = program.steps[mine.at];
            if (step.has_messages() && !mine.has_posted) {
                if (!are_met(step.before_messages)) return false;
                post(rank, step);
                return mine.has_posted = true;
            }
            if (!are_met(step.dependencies) || !have_arrived(rank, step)) return false;
            receive(rank, step);
            do_moves(rank, step.moves);
            ++mine.at;
            mine.has_posted = false;
            return true;
        }
        if (!mine.has_settled) {
            do_moves(rank, program.settling_early);
            return mine.has_settled = true;
        }
        if (mine.is_done || !are_met(program.last_readers)) return false;
        do_moves(rank, program.settling_late);
        return mine.is_done = true;
    }

    std::span<const RankProgram> programs_;
    CollectiveSpec spec_;
    int chunks_;
    bool in_place_;
    std::mt19937_64 dice_;
    std::vector<Progress> ranks_;
    std::map<std::pair<int, ChunkPlace>, Value> memory_;
    std::map<std::pair<int, int>, std::deque<std::vector<Value>>> messages_;
    std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> find_fault(std::span<const RankProgram> programs,
                                      const CollectiveSpec& spec, int chunks, bool in_place,
                                      std::uint64_t seed) {
    return Run(programs, spec, chunks, in_place, seed).find_fault();
}

}  // namespace tutti
