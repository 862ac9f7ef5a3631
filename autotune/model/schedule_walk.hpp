// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "autotune/model/expected_plan.hpp"
#include "autotune/model/loggp_parameters.hpp"
#include "autotune/model/step_reader.hpp"
#include "base/index.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// About the most transfers that are visited for one prediction.
inline constexpr std::int64_t most_visits = 1 << 17;

/// Walks through a schedule step by step with a clock for each rank (max-plus). A rank sends, waits
/// until all that it receives in the step has been sent, then handles it. Ranks that share a core
/// share a clock for their work. Each host has one clock for outgoing and one for incoming data.
/// Needs little memory per rank, and a few bits for each chunk of each rank.
template <class Time>
class ScheduleWalk {
public:
    ScheduleWalk(const ExpectedPlan& plan, const Call& call, const CoreAssignment& assignment,
                 CallCosts<Time>& within, CallCosts<Time>& across)
        : plan_(plan),
          schedule_(plan.schedule),
          assignment_(assignment),
          within_(within),
          across_(across),
          spec_{call.collective, schedule_.ranks(), call.root},
          sizes_(call, spec_.blocks(), schedule_.chunks()),
          reader_(schedule_, call.root, assignment),
          ranks_(static_cast<std::size_t>(schedule_.ranks())),
          leaving_(static_cast<std::size_t>(assignment.hosts)),
          entering_(leaving_.size()),
          cores_(static_cast<std::size_t>(assignment.cores)),
          computed_(schedule_.ranks(), keeps_marks() ? schedule_.chunks() : 0),
          published_(schedule_.ranks(), keeps_marks() ? schedule_.chunks() : 0) {}

    /// Returns the slowest rank's time. In a schedule with too many transfers, only every n-th step
    /// is visited and counts for its neighbours; all ranks then wait for the slowest in each. They
    /// also do in steps so large that only some ranks are visited.
    Time run() {
        const int stride = reader_.stride_for(most_visits);
        for (int step = 0; step < schedule_.steps(); step += stride) {
            const bool was_sampled = reader_.is_sampled();
            reader_.read(step);
            if (reader_.is_sampled() && !was_sampled) met_ += meet(all_ranks(schedule_.ranks()));
            walk_step(step);
            if (stride > 1 || reader_.is_sampled())
                count_for(std::min(stride, schedule_.steps() - step));
        }
        Time slowest{};
        for (const Rank rank : all_ranks(schedule_.ranks())) {
            Time end = of(rank).clock;
            end += within_.per_byte(PerByte::own) * sizes_.own(spec_, rank);
            later(slowest, end);
        }
        return met_ + slowest + (assignment_.hosts > 1 ? across_ : within_).call;
    }

    std::int64_t visited() const { return reader_.visited(); }

private:
    struct OfRank {
        Time clock{};  // when it has finished all steps so far
        // In this step: when all that the rank receives has been sent
        Time arrival{};
        Time work{};                    // in this step: handling what arrives
        int sum = -1;                   // in this step: the chunk that was added up last
        int arriving = 0, sending = 0;  // chunks of the step
        bool is_active = false, receives = false, adds_all = false;
    };
    struct OfCore {
        Time clock{};
        int rank = -1;
    };
    OfRank& of(Rank rank) { return at(ranks_, rank); }
    static void later(Time& time, const Time& other) {
        if (time < other) time = other;
    }
    bool keeps_marks() const {
        return plan_.way.method == TransferMethod::copy_in_copy_out ||
               (plan_.is_in_place() && spec_.reduces());
    }
    // A sample may contain any number of the ranks of a core: see meet().
    bool shares_cores() const { return assignment_.is_oversubscribed && !reader_.is_sampled(); }
    int host_of(Rank rank) const { return at(assignment_.host_of, rank); }
    bool crosses(const Message& message) const {
        return assignment_.hosts > 1 && host_of(message.first.from) != host_of(message.first.to);
    }
    CallCosts<Time>& costs_of(const Message& message) {
        return crosses(message) ? across_ : within_;
    }

    void walk_step(int step) {
        active_.clear();
        if (plan_.is_in_place() && !spec_.reduces()) count_chunks();
        const auto for_each = [&](auto&& visit) {
            for_each_message(reader_.transfers(), sizes_, plan_.way.lanes, visit);
        };
        for_each([&](const Message& message) { send(message); });
        for_each([&](const Message& message) { receive(message); });
        if (keeps_marks())
            for (const Transfer& transfer : reader_.transfers()) mark(transfer);
        if (shares_cores())
            end_step_on_cores(step);
        else
            for (const Rank rank : active_) end_step(rank);
        for (const Rank rank : active_) of(rank) = OfRank{.clock = of(rank).clock};
    }

    void count_chunks() {
        for (const Transfer& transfer : reader_.transfers()) {
            of(transfer.from).sending += transfer.chunks.count;
            of(transfer.to).arriving += transfer.chunks.count;
        }
    }

    void activate(Rank rank) {
        if (of(rank).is_active) return;
        of(rank).is_active = true;
        active_.push_back(rank);
    }

    // Other hosts are reached by messages, whatever the method within a host.
    TransferMethod method_of(const Message& message) const {
        return crosses(message) ? TransferMethod::messages : plan_.way.method;
    }
    bool is_by_message(const Message& message) const {
        const TransferMethod method = method_of(message);
        return method == TransferMethod::messages || method == TransferMethod::lines;
    }

    // Returns the sender's work for a message.
    Time sending(const Message& message) {
        CallCosts<Time>& costs = costs_of(message);
        const Rank from = message.first.from;
        const Chunks chunks = message.first.chunks;
        Time work{};
        switch (method_of(message)) {
            case TransferMethod::messages:
            case TransferMethod::lines:
                work += costs.message(message.bytes);
                work += costs.per_byte(PerByte::send) * message.bytes;
                // A rank sends its own block from its input, and gathered blocks from its output.
                if (message.parts > 1 || sizes_.mixes_own_block(spec_, chunks, from))
                    work += costs.per_byte(PerByte::pack) * message.bytes;
                break;
            case TransferMethod::registered:
            case TransferMethod::mapped:
                if (!is_pushed(message)) break;
                work += costs.message(message.bytes);
                work += costs.per_byte(spec_.reduces() ? PerByte::write : PerByte::copy) *
                        message.bytes;
                break;
            case TransferMethod::copy_in_copy_out:
                if (published_.has(from, chunks)) break;
                work +=
                    costs.per_byte(computed_.has(from, chunks) ? PerByte::write : PerByte::send) *
                    message.bytes;
                published_.set(from, chunks, true);
                break;
            default:  // peers read it
                break;
        }
        return work;
    }

    void send(const Message& message) {
        const Rank from = message.first.from;
        activate(from);
        activate(message.first.to);
        if (from == message.first.to) {
            of(from).adds_all = spec_.reduces();
            return;
        }
        const Time work = sending(message);
        if (!is_by_message(message) && !(Time{} < work)) return;  // peers only read
        begin_on_core(from);
        of(from).clock += work;
        end_on_core(from);
        if (!crosses(message)) return;
        Time& leaving = at(leaving_, host_of(from));
        later(leaving, of(from).clock);
        leaving += across_.link * (message.bytes * reader_.stands_for(from));
    }

    // See PushTerms: the rank that computes a chunk writes it into the result of a rank that only
    // waits for it, and a rank with less work than the receiver puts its input there.
    bool is_pushed(const Message& message) {
        const auto& [chunks, from, to, action] = message.first;
        if (action == Action::reduce || spec_.is_token()) return false;
        const std::int64_t block = sizes_.block_of(chunks);
        if (spec_.reduces()) return computed_.has(from, chunks) && spec_.ends_with(to, block);
        return spec_.source_of(block) == from && spec_.ends_with(to, block) &&
               sizes_.own_chunks(spec_, from) + of(from).arriving + of(from).sending <
                   sizes_.own_chunks(spec_, to) + of(to).arriving;
    }

    void receive(const Message& message) {
        const Rank from = message.first.from, to = message.first.to;
        OfRank& receiver = of(to);
        if (from == to) return;
        CallCosts<Time>& costs = costs_of(message);
        Time seen = of(from).clock;
        if (crosses(message)) {
            Time& entering = at(entering_, host_of(to));
            later(entering, seen);
            entering += costs.link * (message.bytes * reader_.stands_for(to));
            later(seen, at(leaving_, host_of(from)));
            later(seen, entering);
        }
        later(receiver.arrival, seen + costs.step);
        receiver.receives = true;
        if (plan_.is_in_place() && !crosses(message) && is_pushed(message)) return;
        receiver.work += costs.message(message.bytes);
        // A chunk with a place in the order of addition is added up at once from all that arrives.
        const bool adds = message.first.action == Action::reduce || receiver.adds_all;
        const bool goes_on = adds && receiver.sum == message.first.chunks.first;
        if (adds) receiver.sum = message.first.chunks.first;
        receiver.work += costs.per_byte(goes_on ? PerByte::add
                                        : adds  ? PerByte::reduce
                                                : PerByte::copy) *
                         message.bytes;
        if (message.parts > 1 && is_by_message(message))
            receiver.work += costs.per_byte(PerByte::pack) * message.bytes;
    }

    void mark(const Transfer& transfer) {
        published_.set(transfer.to, transfer.chunks, false);
        computed_.set(transfer.to, transfer.chunks,
                      transfer.action == Action::reduce || of(transfer.to).adds_all);
    }

    void end_step(Rank rank) {
        OfRank& one = of(rank);
        if (!one.receives) return;
        later(one.clock, one.arrival);
        one.clock += one.work;
    }

    // Every second step goes in the reverse order of sending: the last sender still has its core.
    void end_step_on_cores(int step) {
        if (step % 2 == 0) std::reverse(active_.begin(), active_.end());
        for (const Rank rank : active_) {
            if (!of(rank).receives) continue;
            later(of(rank).clock, of(rank).arrival);
            begin_on_core(rank);
            of(rank).clock += of(rank).work;
            end_on_core(rank);
        }
    }

    OfCore& core_of(Rank rank) { return at(cores_, at(assignment_.core_of, rank)); }
    void begin_on_core(Rank rank) {
        if (!shares_cores()) return;
        OfCore& core = core_of(rank);
        later(of(rank).clock, core.clock);
        if (core.rank != rank.index) of(rank).clock += within_.context_switch;
        core.rank = rank.index;
    }
    void end_on_core(Rank rank) {
        if (shares_cores()) core_of(rank).clock = of(rank).clock;
    }

    // Adds the slowest clock, and sets all clocks back to zero.
    template <class Ranks>
    Time meet(const Ranks& ranks) {
        Time slowest{};
        for (const Rank rank : ranks) {
            later(slowest, of(rank).clock);
            of(rank).clock = Time{};
        }
        std::ranges::fill(cores_, OfCore{});
        std::ranges::fill(leaving_, Time{});
        std::ranges::fill(entering_, Time{});
        return slowest;
    }

    // Counts the time of the step this many times.
    void count_for(int steps) {
        Time slowest = meet(active_);
        if (reader_.is_sampled() && assignment_.is_oversubscribed) {
            slowest += within_.context_switch;
            steps *= assignment_.most_on_core;
        }
        met_ += slowest * steps;
    }

    const ExpectedPlan& plan_;
    const Schedule& schedule_;
    const CoreAssignment& assignment_;
    CallCosts<Time>& within_;
    CallCosts<Time>& across_;
    CollectiveSpec spec_;
    MessageSizes sizes_;
    StepReader reader_;
    std::vector<OfRank> ranks_;
    std::vector<Time> leaving_, entering_;  // by host
    std::vector<OfCore> cores_;
    ChunkMarks computed_;   // by addition, on this rank
    ChunkMarks published_;  // already copied to where peers read it
    std::vector<Rank> active_;
    Time met_{};  // time of the steps after which all ranks have met
};

/// The parameters for a call; `across` only for several hosts.
struct CallParameters {
    const LogGpParameters* within = nullptr;
    const LogGpParameters* across = nullptr;
};

inline const LogGpParameters* parameters_called(
    const std::map<std::string, LogGpParameters>& parameters, const std::string& name) {
    const auto known = parameters.find(name);
    return known == parameters.end() ? nullptr : &known->second;
}

/// Returns nothing if the model lacks parameters for the plan.
inline std::optional<CallParameters> parameters_for(const ModelParameters& model,
                                                    const ExpectedPlan& plan,
                                                    const RoutedCall& call) {
    const CallParameters parameters{parameters_called(model.within, plan.parameters),
                                    parameters_called(model.across, plan.parameters)};
    const bool several = call.hosts.nodes().size() > 1;
    const bool one_each =
        several && call.hosts.nodes().size() == static_cast<std::size_t>(call.ranks());
    if ((parameters.within == nullptr && !one_each) || (several && parameters.across == nullptr))
        return std::nullopt;
    return parameters;
}

/// Returns the time of a call by this plan, and the number of visited transfers.
template <class Time>
std::pair<Time, std::int64_t> cost_of(const ExpectedPlan& plan, const RoutedCall& call,
                                      CallParameters parameters, int cores_of_host) {
    const int ranks = call.ranks();
    const double footprint = static_cast<double>(bytes_of_all_buffers(call).count) / ranks;
    // With one rank per host all messages go between hosts, and a rank's own copies use those
    // parameters.
    const bool all_across = parameters.within == nullptr;
    const LogGpParameters& within_host = all_across ? *parameters.across : *parameters.within;
    const LogGpParameters& between_hosts =
        parameters.across == nullptr ? within_host : *parameters.across;
    CallCosts<Time> within(within_host, footprint, all_across ? LogGpParameters::terms : 0);
    CallCosts<Time> across(between_hosts, footprint, LogGpParameters::terms);
    const CoreAssignment assignment(call.hosts, ranks, cores_of_host);
    ScheduleWalk<Time> walk(plan, call.call, assignment, within, across);
    Time time = walk.run();
    return {std::move(time), walk.visited()};
}

}  // namespace tutti
