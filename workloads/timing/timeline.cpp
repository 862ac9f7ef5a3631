// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.hpp"

namespace tutti {
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

// One rank's lane, line by line. Times come in ns of its own clock.
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
    std::int64_t earlier_ns_;  // than all of the trace, by the common clock
    std::string lines_;
};

// The rank does one thing at a time: a step is what came since the step that ended before it.
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
    begin_ns_ += (end - begin) + (end - begin) / 10;  // a gap that is seen
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
