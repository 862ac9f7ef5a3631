// SPDX-License-Identifier: Apache-2.0
// Where messages are received, with schedules that no algorithm of the catalog has; and what drafts
// of the catalog do in calls of any length.
#include "collectives/execute/messages/message_draft.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/execute/messages/message_program.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/schedule/count.hpp"
#include "kernels/sets.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

// Rank 0 of two sends to 1; then both send what they hold to each other.
MessageDraft draft_of_swap(Rank me) {
    const Schedule swap({.ranks = 2, .chunks = 1, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = whole_message, .from = {0}, .to = {1}});
        if (step == 1) out.copy({.chunks = whole_message, .from = {1}, .to = {0}});
    });
    const Call call{.collective = Collective::all_reduce, .count = 4};
    std::vector<std::byte> input(16), output(16);
    const PlanRequest request{
        .schedule = swap, .call = call, .buffers = {.input = input, .output = output}};
    return draft_messages(request, me).at(0);
}

// Arriving data must not overwrite data that is still being sent.
TEST(MessageDraft, ReceivesIntoOtherMemoryThanIsBeingSent) {
    const MessageDraft draft = draft_of_swap(Rank{1});
    ASSERT_EQ(draft.steps.size(), 2U);
    ASSERT_EQ(draft.steps[1].sends.size(), 1U);
    EXPECT_EQ(draft.steps[1].sends[0].place.in, Place::In::output);
    ASSERT_EQ(draft.steps[1].receives.size(), 1U);
    EXPECT_EQ(draft.steps[1].receives[0].place.in, Place::In::inbox);
    EXPECT_EQ(draft.steps[1].moves.size(), 1U);
    EXPECT_GE(draft.inbox, 16U);
}

// If nothing is in the way, the result is received at its destination, and nothing is moved.
TEST(MessageDraft, ReceivesAResultWhereItBelongs) {
    for (const int step : {0, 1}) {
        // Rank 0 sends from its input, which receives nothing.
        const MessageDraft draft = draft_of_swap(Rank{step == 0 ? 1 : 0});
        ASSERT_EQ(draft.steps.at(static_cast<std::size_t>(step)).receives.size(), 1U);
        EXPECT_EQ(draft.steps[static_cast<std::size_t>(step)].receives[0].place.in,
                  Place::In::output);
        EXPECT_TRUE(draft.steps[static_cast<std::size_t>(step)].moves.empty());
    }
}

// The messages that `tutti show` counts are those that are sent.
TEST(MessageDraft, SendsAsManyMessagesAsAreCounted) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks = 1; ranks <= 9; ++ranks) {
            const Job job{.collective = algorithm.collective, .ranks = ranks};
            if (algorithm.refuses(job)) continue;
            const Schedule schedule = algorithm.build(job);
            const Call call{.collective = job.collective, .count = schedule.chunks()};
            const PlanRequest request{.schedule = schedule, .call = call};
            long sent = 0;
            for (Rank me : all_ranks(ranks)) {
                const MessageDraft draft = draft_messages(request, me).at(0);
                for (const DraftStep& step : draft.steps) sent += std::ssize(step.sends);
            }
            EXPECT_EQ(sent, count(schedule, CollectiveSpec{job.collective, ranks}).messages)
                << name_of(job.collective) << " " << algorithm.name << ", " << ranks << " ranks";
        }
}

// The buffers of one rank, out of place or in place.
struct RankBuffers {
    RankBuffers(const Call& call, int ranks, Rank me, bool in_place) {
        const std::size_t input = input_bytes(call, ranks, me),
                          output = output_bytes(call, ranks, me);
        const InPlace begin =
            in_place ? in_place_offsets(call, ranks, me) : InPlace{.input = 0, .output = input + 3};
        memory.resize(std::max(begin.input + input, begin.output + output));
        writable_input = std::span(memory).subspan(begin.input, input);
        buffers = {writable_input, std::span(memory).subspan(begin.output, output), in_place};
    }

    std::vector<std::byte> memory;
    std::span<std::byte> writable_input;
    CallBuffers buffers;
};

// The programs of all ranks, run in this thread.
class AllRanks {
public:
    AllRanks(const PlanRequest& largest, std::size_t most_bytes) {
        for (const Rank me : all_ranks(largest.schedule.ranks())) {
            auto& of_rank = programs_.emplace_back();
            for (MessageDraft& draft : draft_messages(largest, me))
                of_rank.emplace_back(largest, std::move(draft), most_bytes);
        }
    }

    // Binds a call with the data of the seed and runs it; returns the wrong elements, and -1 if
    // some rank waits for ever.
    std::int64_t wrong_elements(const Call& call, bool in_place, std::uint64_t seed) {
        const int ranks = int_size(programs_);
        const CheckCase check = check_of(call, ranks, seed);
        std::vector<std::unique_ptr<RankBuffers>> memory;  // not where that of the last call is
        for (const Rank me : all_ranks(ranks)) {
            const auto& here =
                memory.emplace_back(std::make_unique<RankBuffers>(call, ranks, me, in_place));
            poison(here->buffers.output);
            fill_input(check, me, here->writable_input);
            for (MessageProgram& program : at(programs_, me)) {
                program.bind(call, here->buffers);
                expect_needs(program);
            }
        }
        for (std::size_t lane = 0; lane < programs_.front().size(); ++lane)
            if (!run(lane)) return -1;
        std::int64_t wrong = 0;
        for (const Rank me : all_ranks(ranks)) {
            const std::span<std::byte> output = at(memory, me)->buffers.output;
            if (call.op == Op::avg && reduces(call.collective))
                find_divide(call.type)(output.data(), output.size() / size_of(call.type), ranks);
            wrong += count_wrong(check, me, output);
        }
        memory_ = std::move(memory);
        return wrong;
    }

    // Returns the steps of a rank that do nothing.
    long empty_steps() const {
        long found = 0;
        for (const auto& of_rank : programs_)
            for (const MessageProgram& program : of_rank)
                found += std::ranges::count_if(program.steps, [](const MessageStep& step) {
                    return step.packing.empty() && step.receives.empty() && step.sends.empty() &&
                           step.moves.empty();
                });
        return found;
    }

private:
    // The endpoint has been made for the largest call.
    static void expect_needs(const MessageProgram& program) {
        for (const auto* posts : {&program.receives, &program.sends})
            for (const Post& post : *posts) {
                EXPECT_GT(post.memory.size(), 0U);
                EXPECT_LE(post.memory.size(), program.needs.most_bytes);
                EXPECT_TRUE(std::ranges::binary_search(program.needs.peers, post.peer));
            }
        for (const MessageStep& step : program.steps)
            EXPECT_LE(step.receives.end - step.receives.first + step.sends.end - step.sends.first,
                      program.needs.most_posts);
    }

    bool run(std::size_t lane) {
        std::vector<std::size_t> at_step(programs_.size());
        std::vector<bool> has_posted(programs_.size());
        std::size_t done = 0;
        for (bool any_progress = true; std::exchange(any_progress, false);) {
            done = 0;
            for (const Rank me : all_ranks(int_size(programs_))) {
                MessageProgram& program = at(programs_, me)[lane];
                if (at(at_step, me) == program.steps.size()) {
                    ++done;
                    continue;
                }
                const MessageStep& step = program.steps[at(at_step, me)];
                if (!has_posted[as_size(me)]) send(me, program, step);
                has_posted[as_size(me)] = true;
                if (!receive(me, program, step)) continue;
                program.moves.run(step.moves.first, step.moves.end);
                ++at(at_step, me);
                has_posted[as_size(me)] = false;
                any_progress = true;
            }
        }
        for (auto& of_rank : programs_)
            of_rank[lane].moves.run(of_rank[lane].settling.first, of_rank[lane].settling.end);
        const bool are_all_received = std::ranges::all_of(
            messages_, [](const auto& between) { return between.second.empty(); });
        return done == programs_.size() && are_all_received;
    }

    void send(Rank me, MessageProgram& program, const MessageStep& step) {
        program.moves.run(step.packing.first, step.packing.end);
        for (auto i = step.sends.first; i < step.sends.end; ++i) {
            const auto& [to, place, memory] = program.sends[i];
            messages_[{me, to}].emplace_back(memory.begin(), memory.end());
        }
    }

    // Receives all messages of the step, once all have been sent.
    bool receive(Rank me, MessageProgram& program, const MessageStep& step) {
        const std::span receives =
            std::span(program.receives)
                .subspan(step.receives.first, step.receives.end - step.receives.first);
        std::map<Rank, std::size_t> expected;
        for (const auto& [from, place, memory] : receives) ++expected[from];
        for (const auto& [from, count] : expected)
            if (messages_[{from, me}].size() < count) return false;
        for (const auto& [from, place, memory] : receives) {
            auto& arrived = messages_[{from, me}];
            EXPECT_EQ(arrived.front().size(), memory.size());
            std::ranges::copy(arrived.front(), memory.begin());
            arrived.pop_front();
        }
        return true;
    }

    std::vector<std::vector<MessageProgram>> programs_;  // by rank and lane
    std::vector<std::unique_ptr<RankBuffers>> memory_;   // buffers of the last call
    std::map<std::pair<Rank, Rank>, std::deque<std::vector<std::byte>>> messages_;
};

// Calls of one plan, whose blocks have at most `bytes`: any lengths, types and operations.
std::vector<Call> calls_of(const Call& most, std::int64_t bytes, int chunks, unsigned seed) {
    std::mt19937 dice(seed);
    constexpr std::array types{DataType::int32, DataType::float64, DataType::int8, DataType::int16};
    constexpr std::array ops{Op::sum, Op::max, Op::min};
    std::vector<Call> calls;
    for (const std::int64_t count : {0, 1, 2, 3, chunks - 1, chunks, chunks + 1, INT_MAX})
        for (const DataType type : types) {
            Call call = most;
            call.type = type;
            call.count = std::min(count, bytes / static_cast<std::int64_t>(size_of(type)));
            if (reduces(call.collective)) call.op = ops[dice() % ops.size()];
            if (reduces(call.collective) && type == DataType::float64) call.op = Op::avg;
            calls.push_back(call);
        }
    std::ranges::shuffle(calls, dice);
    return calls;
}

// Memory is allocated for the most bytes that sizes can have.
void expect_within_most(const PlanRequest& request, const std::vector<Call>& calls) {
    for (const MessageDraft& draft : draft_messages(request, Rank{0})) {
        std::vector<std::size_t> bytes(draft.sizes.entries.size());
        for (const Call& call : calls) {
            draft.sizes.evaluate(call, bytes);
            for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_LE(bytes[i], draft.sizes.most[i]);
        }
    }
}

void expect_right_in_all_calls(const Algorithm& algorithm, const Job& job, bool in_place,
                               std::size_t most_bytes) {
    const Schedule schedule = build_in_order(algorithm, job);
    const auto blocks = CollectiveSpec{job.collective, job.ranks, job.root}.blocks();
    const int chunks = schedule.chunks() / static_cast<int>(blocks);
    constexpr std::int64_t bytes = 601;
    const Call most{job.collective, DataType::int8, Op::sum, job.root, bytes};
    PlanRequest request{.schedule = schedule, .call = most, .buffers = {.in_place = in_place}};
    if (!(in_place && CollectiveSpec{job.collective, job.ranks}.exchanges()))
        request.lanes = lanes_for(algorithm, job, schedule);
    AllRanks ranks(request, most_bytes);
    const auto calls = calls_of(most, bytes, chunks, static_cast<unsigned>(job.ranks));
    expect_within_most(request, calls);
    std::uint64_t seed = 0;
    for (const Call& call : calls) {
        // First with the buffers of another call, then with other buffers of this one.
        for (int times = 0; times < 2; ++times)
            EXPECT_EQ(ranks.wrong_elements(call, in_place, ++seed), 0)
                << name_of(job.collective) << " " << algorithm.name << ", " << job.ranks
                << " ranks, " << call.count << " " << name_of(call.type)
                << (in_place ? " in place" : "");
        EXPECT_EQ(ranks.empty_steps(), 0);
        if (testing::Test::HasFailure()) return;
    }
}

// A plan serves calls of any length up to its largest one, of any type and operation, in any order.
TEST(MessageProgram, IsRightInAllCallsThatItIsBoundTo) {
    for (const Algorithm& algorithm : catalog())
        for (const int ranks : {1, 2, 3, 5, 8})
            for (const bool in_place : {false, true}) {
                Job job{.collective = algorithm.collective,
                        .ranks = ranks,
                        .root = {ranks - 1},
                        .segments = 7};
                if (ranks == 8) job.placement = Placement::in_nodes_of(ranks, 4);
                if (ranks == 5) job.order = channels_of({}, 3, ranks);
                if (algorithm.refuses(job)) continue;
                // Long messages are cut.
                const std::size_t most_bytes = ranks == 3 ? 100 : std::size_t{1} << 30;
                expect_right_in_all_calls(algorithm, job, in_place, most_bytes);
            }
}

}  // namespace
}  // namespace tutti
