// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/index.hpp"
#include "workloads/scenarios/bucket_cap.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {

namespace {

DataType type_of(const Buffer& buffer) {
    return buffer.element.count == 8 ? DataType::int64 : DataType::float32;
}

}  // namespace

Program ddp_program(const Model& model, DataType type, std::span<const Bucket> buckets,
                    std::span<const ComputeTimes> times, int ranks) {
    Program program = program_of_alike(model, ranks);
    GroupWriter all(program, every_rank_of(ranks));
    std::vector<std::int64_t> now(times.size());  // time of each recorded step, within its phase
    const auto compute_until = [&](Phase phase, const auto& time_of) {
        std::vector<std::int64_t> ns;
        for (std::size_t i = 0; i < times.size(); ++i) {
            const std::int64_t until = std::invoke(time_of, times[i]);
            ns.push_back(until - std::exchange(now[i], until));
        }
        if (std::ranges::max(ns) > 0)
            program.tasks.front().push_back(
                {.kind = Task::Kind::compute, .phase = phase, .compute_ns = std::move(ns)});
    };
    // Buffers of one type travel together, as in PyTorch.
    std::map<DataType, std::int64_t> buffers;
    for (const Buffer& buffer : model.buffers) buffers[type_of(buffer)] += buffer.count;
    for (const auto& [of_type, count] : buffers)
        all.start_and_wait(
            all.add_call(
                {.label = "buffers",
                 .call = {.collective = Collective::broadcast, .type = of_type, .count = count},
                 .in_place = true}),
            Phase::forward);
    std::vector<int> calls;
    for (std::size_t i = 0; i < buckets.size(); ++i)
        calls.push_back(
            all.add_call(all_reduce_call(fmt::format("bucket {}", i), type, buckets[i].count)));
    std::vector<std::size_t> place_of(model.parameters.size());  // in the ready order
    for (std::size_t index = 0; index < model.ready_order.size(); ++index)
        at(place_of, model.ready_order[index]) = index;
    compute_until(Phase::forward, &ComputeTimes::forward_ns);
    std::ranges::fill(now, 0);

    // A bucket begins with the last of its gradients, but not before the previous buckets.
    std::vector<std::size_t> last_of(buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        for (const int parameter : buckets[i].parameters)
            last_of[i] = std::max(last_of[i], at(place_of, parameter));
        if (i > 0) last_of[i] = std::max(last_of[i], last_of[i - 1]);
    }
    std::size_t next = 0;
    for (std::size_t index = 0; index < model.ready_order.size(); ++index) {
        compute_until(Phase::backward,
                      [&](const ComputeTimes& one) { return one.ready_ns[index]; });
        for (; next < buckets.size() && last_of[next] == index; ++next)
            all.start(calls[next], Phase::backward);
    }
    compute_until(Phase::backward, &ComputeTimes::backward_ns);
    for (const int call : calls) all.wait(call, Phase::backward);
    return program;
}

namespace {

constexpr SettingRow setting_rows[] = {
    {"model", "Network whose gradients are sent; see 'tutti workload --list-models'", "resnet50"},
    scale_setting,
    {"bucket-cap",
     "Bytes after which a bucket is closed; auto: the cap with the least exposed communication",
     "25M"},
    {"first-bucket", "Bytes after which the first bucket is closed", "1M"},
    {"network",
     "Network for --bucket-cap auto: latency and bandwidth, e.g. 100us+1.25GB/s, or measured (with "
     "the first method)",
     "measured"},
    step_time_setting,
    {"broadcast-buffers", "Broadcast batch norm statistics before each forward pass: yes or no",
     "yes"},
};

Model model_of(const Settings& settings) {
    Model model = scaled_model(settings);
    if (!settings.yes("broadcast-buffers")) model.buffers.clear();
    return model;
}

bool searches_cap(const Settings& settings) { return settings.text("bucket-cap") == "auto"; }

std::optional<NetworkModel> network_of(const Settings& settings) {
    if (settings.text("network") == "measured") return std::nullopt;
    return parse_network_model(settings.text("network"));
}

void check_settings(const Settings& settings) {
    const Model model = model_of(settings);
    const Bytes first = settings.bytes("first-bucket");
    buckets_of(model, Bytes{4},
               {first, searches_cap(settings) ? first : settings.bytes("bucket-cap")});
    if (network_of(settings) && !searches_cap(settings))
        throw Error("--network requires --bucket-cap auto");
    settings.seconds("step-time");
}

// Chooses the cap, and reports the exposed communication of each one.
BucketCaps find_caps(const Settings& settings, const Model& model, const ComputeTimes& times,
                     const WorkloadEnvironment& environment, std::vector<std::string>& notes) {
    const auto given = network_of(settings);
    // All ranks must use the same network model, because it decides what they send.
    const NetworkModel network = from_rank0(environment.planner.world(),
                                            given ? *given : measured_network_model(environment));
    std::vector<std::int64_t> counts;
    for (const int parameter : model.ready_order)
        counts.push_back(at(model.parameters, parameter).count());
    const auto tried =
        try_caps(counts, Bytes{4}, settings.bytes("first-bucket"), {&times, 1}, network);
    notes.push_back(fmt::format("network, {}: {:.1f} us + {:.3f} GB/s",
                                given ? "as given" : "measured", network.latency_ns * 1e-3,
                                1 / network.ns_per_byte));
    for (const CapTrial& one : tried)
        notes.push_back(fmt::format("bucket cap {:>5}: {:4} buckets leave {:.3f} ms exposed{}",
                                    to_string(one.caps.others), one.buckets, one.exposed_ns * 1e-6,
                                    &one == &best_of(tried) ? ", the least" : ""));
    return best_of(tried).caps;
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Model model = model_of(settings);
    const ComputeTimes times = step_times_by_formula(model, step_ns_of(settings));
    std::vector<std::string> notes;
    const BucketCaps caps =
        searches_cap(settings)
            ? find_caps(settings, model, times, environment, notes)
            : BucketCaps{settings.bytes("first-bucket"), settings.bytes("bucket-cap")};
    const auto buckets = buckets_of(model, Bytes{4}, caps);
    notes.push_back(
        fmt::format("{}: {} parameters in {} buckets", model.name, model.count(), buckets.size()));
    return scenario_of(ddp_program(model, DataType::float32, buckets, {&times, 1},
                                   environment.planner.world().size()),
                       std::move(notes), {}, environment);
}

}  // namespace

Workload ddp_workload() {
    return {.name = "ddp",
            .what =
                "data parallel: buckets of gradients averaged during the backward pass "
                "(PyTorch's DistributedDataParallel)",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

namespace {

struct OfRank {
    std::vector<ComputeTimes> passes;
    std::vector<std::int64_t> optimizer_ns;
};

std::vector<OfRank> by_rank(const GradientTrace& trace) {
    std::vector<OfRank> ranks(as_size(trace.recorded_ranks()));
    for (const auto& one : trace.iterations) {
        OfRank& rank = ranks.at(as_size(one.rank));
        rank.passes.push_back(step_times_of_trace(trace.parameters.size(), one.ready_ns,
                                                  one.forward_ns, one.backward_ns));
        rank.optimizer_ns.push_back(one.optimizer_ns);
    }
    return ranks;
}

}  // namespace

Program program_of(const GradientTrace& trace, const std::string& name,
                   std::span<const Bucket> buckets, int ranks) {
    const Model model{.name = name,
                      .parameters = trace.parameters,
                      .ready_order = trace.ready_order,
                      .buffers = trace.buffers,
                      .transformer = {},
                      .tables = {}};
    Program program;
    const auto recorded = by_rank(trace);
    for (const OfRank& one : recorded) {
        Program alike = ddp_program(model, trace.type, buckets, one.passes, ranks);
        auto& tasks = alike.tasks.front();
        if (std::ranges::max(one.optimizer_ns) > 0)
            tasks.push_back({.kind = Task::Kind::compute,
                             .phase = Task::Phase::optimizer,
                             .compute_ns = one.optimizer_ns});
        if (program.role_of.empty())
            program = std::move(alike);
        else
            program.tasks.push_back(std::move(tasks));
    }
    for (std::size_t rank = 0; rank < program.role_of.size(); ++rank)
        program.role_of[rank] = static_cast<int>(rank % recorded.size());
    return program;
}

}  // namespace tutti
