// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "base/json_writer.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// The end times of one rank's steps, call by call.
struct NotedCalls {
    std::vector<StepEnd> ends;
    std::vector<std::size_t> first;  // index in `ends` for each call
    std::vector<std::int64_t> begin_ns, end_ns;
};

NotedCalls note_calls(World& world, Operation& operation, ObservedCalls calls,
                      const std::function<void()>& before_call) {
    NotedCalls noted;
    const auto note_call = [&] {
        if (before_call) before_call();
        noted.first.push_back(noted.ends.size());
        world.barrier();
        noted.begin_ns.push_back(now_ns());
        operation.run();
        noted.end_ns.push_back(now_ns());
    };
    operation.note_step_ends(&noted.ends);
    for (std::int64_t i = 0; i < calls.warm_up; ++i) note_call();
    const std::size_t steps = noted.ends.size() / as_size(calls.warm_up);
    noted = {};
    noted.ends.reserve(steps * as_size(calls.timed));
    for (std::int64_t i = 0; i < calls.timed; ++i) note_call();
    operation.note_step_ends(nullptr);
    noted.first.push_back(noted.ends.size());
    return noted;
}

}  // namespace

std::vector<std::int64_t> step_ends_of(World& world, Operation& operation, ObservedCalls calls,
                                       const std::function<void()>& before_call) {
    const NotedCalls noted = note_calls(world, operation, calls, before_call);
    int last_step = -1;
    for (const StepEnd& end : noted.ends) last_step = std::max(last_step, end.step);
    for (const int of_rank : gather_all(world, last_step)) last_step = std::max(last_step, of_rank);

    // One row for each call, one column for each step and one for the call. A step in which this
    // rank has nothing to do ends with the previous step.
    const std::size_t columns = as_size(last_step + 2);
    std::vector<std::int64_t> mine(as_size(calls.timed) * columns);
    for (std::size_t call = 0; call < as_size(calls.timed); ++call) {
        const std::span row(&mine[call * columns], columns);
        for (std::size_t i = noted.first[call]; i < noted.first[call + 1]; ++i) {
            std::int64_t& end = row[as_size(noted.ends[i].step)];
            end = std::max(end, noted.ends[i].ns - noted.begin_ns[call]);
        }
        row.back() = noted.end_ns[call] - noted.begin_ns[call];
        for (std::size_t i = 1; i < columns; ++i) row[i] = std::max(row[i], row[i - 1]);
    }

    std::vector<std::int64_t> all(mine.size() * as_size(world.size()));
    world.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    std::vector<std::int64_t> ends(columns);
    for (std::size_t column = 0; column < columns; ++column) {
        std::vector<std::int64_t> slowest(as_size(calls.timed));
        for (std::size_t i = column; i < all.size(); i += columns) {
            std::int64_t& of_call = slowest[i % mine.size() / columns];
            of_call = std::max(of_call, all[i]);
        }
        ends[column] = median(slowest);
    }
    return ends;
}

namespace {

constexpr int noted_calls = 4;  // the last one is shown

struct NotedCall {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::vector<StepEnd> steps = {};
};

NotedCall note_last_call(World& world, Operation& operation) {
    NotedCall call;
    operation.note_step_ends(&call.steps);
    for (int i = 0; i < noted_calls; ++i) {
        call.steps.clear();
        world.barrier();
        call.begin_ns = now_ns();
        operation.run();
        call.end_ns = now_ns();
    }
    operation.note_step_ends(nullptr);
    return call;
}

// Writes one rank's lane, line by line. Times are given in ns of its own clock.
class LaneOfRank {
public:
    LaneOfRank(Rank rank, const GlobalClock& clock, std::int64_t earlier_ns)
        : rank_(rank), clock_(clock), earlier_ns_(earlier_ns) {}

    void add(const char* category, const std::string& name, std::int64_t from, std::int64_t to) {
        if (to <= from) return;
        line({{"name", name},
              {"cat", category},
              {"ph", "X"},
              {"ts", us(clock_.from_local(from) - earlier_ns_)},
              {"dur", us(clock_.from_local(to) - clock_.from_local(from))},
              {"pid", 0},
              {"tid", rank_.index}});
    }

    const std::string& lines() const { return lines_; }

private:
    static double us(std::int64_t ns) { return static_cast<double>(ns) / 1000; }
    void line(const Json& event) { lines_ += ",\n" + one_line(event); }

    Rank rank_;
    const GlobalClock& clock_;
    std::int64_t earlier_ns_;  // before the whole trace, by the common clock
    std::string lines_;
};

// A rank does one thing at a time, so a step lasts from the end of the previous step.
void add_call(LaneOfRank& lane, const NotedCall& call, const std::string& what,
              const std::vector<std::string>& describe_steps) {
    lane.add("call", what, call.begin_ns, call.end_ns);
    std::int64_t last = call.begin_ns;
    for (const StepEnd& step : call.steps) {
        std::string name = fmt::format("step {}", step.step);
        if (as_size(step.step) < describe_steps.size())
            name += ": " + at(describe_steps, step.step);
        const std::int64_t ready = std::clamp(step.ready_ns, last, std::max(last, step.ns));
        lane.add("step", name, last, step.ns);
        lane.add("wait", "wait", last, ready);
        lane.add("move", "move", ready, step.ns);
        last = std::max(last, step.ns);
    }
    if (!call.steps.empty()) lane.add("step", "end of the call", last, call.end_ns);
}

Json name_of_lane(const char* kind, int lane, const std::string& name) {
    return {{"name", kind}, {"ph", "M"}, {"pid", 0}, {"tid", lane}, {"args", {{"name", name}}}};
}

}  // namespace

void Timeline::add(Operation& operation, const std::string& what) {
    clock_.refresh();
    const NotedCall call = note_last_call(world_, operation);
    const std::int64_t begin =
        std::ranges::min(gather_all(world_, clock_.from_local(call.begin_ns)));
    const std::int64_t end = std::ranges::max(gather_all(world_, clock_.from_local(call.end_ns)));

    LaneOfRank lane(world_.rank(), clock_, begin - begin_ns_);
    add_call(lane, call, what, operation.describe_steps());
    for (const std::string& lines : gather_all_texts(world_, lane.lines()))
        if (world_.is_first()) events_ += lines;
    begin_ns_ += (end - begin) + (end - begin) / 10;  // a visible gap
}

std::string Timeline::text() const {
    std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" +
                       one_line(name_of_lane("process_name", 0, "tutti bench"));
    for (const Rank rank : all_ranks(world_.size()))
        text += ",\n" + one_line(name_of_lane("thread_name", rank.index,
                                              fmt::format("rank {}", rank.index)));
    return text + events_ + "\n]}\n";
}

}  // namespace tutti
