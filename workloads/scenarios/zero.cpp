// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

// Returns each rank's share of `count` elements.
std::int64_t share_of(std::int64_t count, int ranks) { return divide_up(count, ranks); }

GroupCall scattered(std::string label, std::int64_t count, DataType type, int ranks) {
    return {.label = std::move(label),
            .call = {.collective = Collective::reduce_scatter,
                     .type = type,
                     .op = Op::avg,
                     .count = share_of(count, ranks)}};
}

GroupCall gathered(std::string label, std::int64_t count, DataType type, int ranks) {
    return {
        .label = std::move(label),
        .call = {
            .collective = Collective::all_gather, .type = type, .count = share_of(count, ranks)}};
}

// Writes stages 1 and 2.
Program sharded_gradients(const Model& model, const ZeroShape& shape, std::int64_t compute_ns,
                          int ranks) {
    Program program = program_of_alike(model, ranks);
    GroupWriter all(program, every_rank_of(ranks));
    const Bytes element{static_cast<std::int64_t>(size_of(shape.type))};
    const auto buckets = buckets_of(model, element, {shape.bucket, shape.bucket});
    const ComputeTimes times = step_times_by_formula(model, compute_ns);
    std::vector<std::size_t> last_of;  // its place in the ready order
    std::size_t end = 0;
    std::vector<int> scatters, gathers;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        last_of.push_back((end += buckets[i].parameters.size()) - 1);
        const std::int64_t count = buckets[i].count;
        scatters.push_back(
            all.add_call(scattered(fmt::format("gradients {}", i), count, shape.type, ranks)));
        gathers.push_back(
            all.add_call(gathered(fmt::format("weights {}", i), count, shape.type, ranks)));
    }
    all.compute(times.forward_ns, Phase::forward);
    std::int64_t now = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        const std::int64_t ready = times.ready_ns[last_of[i]];
        all.compute(ready - now, Phase::backward);
        now = ready;
        if (shape.stage == 2) all.start(scatters[i], Phase::backward);
    }
    all.compute(times.backward_ns - now, Phase::backward);
    if (shape.stage == 1)
        for (const int call : scatters) all.start(call, Phase::optimizer);
    for (const int call : scatters) all.wait(call, Phase::optimizer);
    for (const int call : gathers) all.start(call, Phase::optimizer);
    for (const int call : gathers) all.wait(call, Phase::optimizer);
    return program;
}

// Assigns buffers that units of the same size use in turn.
class Slots {
public:
    explicit Slots(int slots) : slots_(slots) {}
    // Must be called for the units in their order.
    int of(std::int64_t count) {
        auto& mine = of_size_[count];
        if (static_cast<int>(mine.size()) < slots_) mine.push_back(next_++);
        return at(mine, seen_[count]++ % slots_);
    }
    int next() const { return next_; }
    void begin_at(int first) { next_ = first; }

private:
    int slots_;
    int next_ = 0;
    std::map<std::int64_t, std::vector<int>> of_size_;
    std::map<std::int64_t, int> seen_;
};

// Writes stage 3.
Program sharded_weights(const Model& model, const ZeroShape& shape, std::int64_t compute_ns,
                        int ranks) {
    constexpr int scatters_under_way = 2;
    Program program = program_of_alike(model, ranks);
    GroupWriter all(program, every_rank_of(ranks));
    const auto counts = model.unit_counts();
    const auto times = unit_times(model, compute_ns);
    const int units = model.units();
    Slots of_weights(shape.prefetch + 1), of_gradients(scatters_under_way);
    std::vector<int> forward, backward, scatters, memory;
    const auto gather = [&](const char* phase, int unit) {
        GroupCall call =
            gathered(fmt::format("{} gather {}", phase, unit), at(counts, unit), shape.type, ranks);
        call.memory = at(memory, unit);
        return all.add_call(call);
    };
    for (const std::int64_t count : counts) memory.push_back(of_weights.of(share_of(count, ranks)));
    of_gradients.begin_at(of_weights.next());
    for (int unit = 0; unit < units; ++unit) {
        forward.push_back(gather("forward", unit));
        backward.push_back(gather("backward", unit));
        const std::int64_t count = at(counts, unit);
        GroupCall scatter = scattered(fmt::format("gradients {}", unit), count, shape.type, ranks);
        scatter.memory = of_gradients.of(share_of(count, ranks));
        scatters.push_back(all.add_call(scatter));
    }
    for (int unit = 0, next = 0; unit < units; ++unit) {
        for (; next < units && next <= unit + shape.prefetch; ++next)
            all.start(at(forward, next), Phase::forward);
        all.wait(at(forward, unit), Phase::forward);
        all.compute(at(times, unit).forward_ns, Phase::forward);
    }
    for (int unit = units - 1, next = units - 1; unit >= 0; --unit) {
        for (; next >= 0 && next >= unit - shape.prefetch; --next)
            all.start(at(backward, next), Phase::backward);
        all.wait(at(backward, unit), Phase::backward);
        all.compute(at(times, unit).backward_ns, Phase::backward);
        if (unit + scatters_under_way < units)
            all.wait(at(scatters, unit + scatters_under_way), Phase::backward);
        all.start(at(scatters, unit), Phase::backward);
    }
    for (int unit = std::min(units, scatters_under_way) - 1; unit >= 0; --unit)
        all.wait(at(scatters, unit), Phase::backward);
    return program;
}

}  // namespace

Program zero_program(const Model& model, const ZeroShape& shape, std::int64_t compute_ns,
                     int ranks) {
    return shape.stage == 3 ? sharded_weights(model, shape, compute_ns, ranks)
                            : sharded_gradients(model, shape, compute_ns, ranks);
}

namespace {

constexpr SettingRow setting_rows[] = {
    {"model", "Network whose weights are sharded; see 'tutti workload --list-models'", "gpt2"},
    scale_setting,
    {"stage", "ZeRO stage: 1 shards the optimizer's state, 2 also gradients, 3 also weights", "3"},
    {"prefetch", "Units gathered ahead in stage 3, 0 to 2", "1"},
    {"bucket", "Bytes after which gradients are sent in stages 1 and 2", "25M"},
    type_setting,
    step_time_setting,
};

ZeroShape shape_of(const Settings& settings) {
    return {.stage = static_cast<int>(settings.number("stage", 1, 3)),
            .prefetch = static_cast<int>(settings.number("prefetch", 0, 2)),
            .bucket = settings.bytes("bucket"),
            .type = element_type(settings)};
}

void check_settings(const Settings& settings) {
    zero_program(scaled_model(settings), shape_of(settings), step_ns_of(settings), 1);
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Model model = scaled_model(settings);
    const ZeroShape shape = shape_of(settings);
    const int ranks = environment.planner.world().size();
    std::vector<std::string> notes{
        fmt::format("{}: {} weights in {} units; ZeRO stage {}: a rank keeps {} of {}", model.name,
                    model.count(), model.units(), shape.stage, share_of(model.count(), ranks),
                    shape.stage == 1   ? "the optimizer's state"
                    : shape.stage == 2 ? "the optimizer's state and gradients"
                                       : "weights, gradients and the optimizer's state")};
    return scenario_of(zero_program(model, shape, step_ns_of(settings), ranks), std::move(notes),
                       {}, environment);
}

}  // namespace

Workload zero_workload() {
    return {.name = "zero",
            .what =
                "sharded data parallel: gradients reduce-scattered, weights gathered (ZeRO "
                "stages 1 to 3, FSDP)",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
