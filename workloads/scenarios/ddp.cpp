// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/ddp.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/scenarios/bucket_cap.hpp"
#include "workloads/scenarios/pattern_settings.hpp"
#include "workloads/scenarios/program_scenario.hpp"
#include "workloads/scenarios/rows.hpp"

namespace tutti {
namespace {

using Phase = Task::Phase;

DataType type_of(const Buffer& buffer) {
    return buffer.element.count == 8 ? DataType::int64 : DataType::float32;
}

// What a rank computes from one time to the next in each recorded step.
std::vector<std::int64_t> between(std::span<const ComputeTimes> times,
                                  const std::function<std::int64_t(const ComputeTimes&)>& from,
                                  const std::function<std::int64_t(const ComputeTimes&)>& to) {
    std::vector<std::int64_t> ns;
    for (const ComputeTimes& one : times) ns.push_back(to(one) - from(one));
    return ns;
}

}  // namespace

Program ddp_program(const Model& model, DataType type, std::span<const Bucket> buckets,
                    std::span<const ComputeTimes> times, int ranks) {
    Program program{.name = model.name,
                    .groups = {every_rank_of(ranks)},
                    .calls = {},
                    .tasks = {},
                    .role_of = std::vector<int>(static_cast<std::size_t>(ranks))};
    std::vector<int> of_buffers, of_buckets;
    // Alike ones travel together, as in PyTorch.
    std::map<DataType, std::int64_t> buffers;
    for (const Buffer& buffer : model.buffers) buffers[type_of(buffer)] += buffer.count;
    for (const auto& [of_type, count] : buffers)
        of_buffers.push_back(program.add_call(
            {.label = "buffers",
             .call = {.collective = Collective::broadcast, .type = of_type, .count = count},
             .in_place = true}));
    for (std::size_t i = 0; i < buckets.size(); ++i)
        of_buckets.push_back(program.add_call({.label = fmt::format("bucket {}", i),
                                               .call = {.collective = Collective::all_reduce,
                                                        .type = type,
                                                        .op = Op::avg,
                                                        .count = buckets[i].count},
                                               .in_place = true}));

    std::vector<std::size_t> place_of(model.parameters.size());  // in the ready order
    for (std::size_t at = 0; at < model.ready_order.size(); ++at)
        place_of[static_cast<std::size_t>(model.ready_order[at])] = at;
    std::vector<Task> tasks;
    const auto compute = [&](Phase phase, std::vector<std::int64_t> ns) {
        if (std::ranges::max(ns) > 0)
            tasks.push_back(
                {.kind = Task::Kind::compute, .phase = phase, .compute_ns = std::move(ns)});
    };
    const auto about = [&](Task::Kind kind, Phase phase, int call) {
        tasks.push_back({.kind = kind, .phase = phase, .call = call});
    };
    for (const int call : of_buffers) {
        about(Task::Kind::start, Phase::forward, call);
        about(Task::Kind::wait, Phase::forward, call);
    }
    const auto begin = [](const ComputeTimes&) { return std::int64_t{0}; };
    compute(Phase::forward, between(times, begin, &ComputeTimes::forward_ns));

    // A bucket begins with the last of its gradients; gradients on the way let others move along.
    std::vector<std::size_t> last_of(buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        for (const int parameter : buckets[i].parameters)
            last_of[i] = std::max(last_of[i], place_of[static_cast<std::size_t>(parameter)]);
        if (i > 0) last_of[i] = std::max(last_of[i], last_of[i - 1]);
    }
    std::size_t next = 0;
    std::function<std::int64_t(const ComputeTimes&)> before = begin;
    for (std::size_t at = 0; at < model.ready_order.size(); ++at) {
        const std::function<std::int64_t(const ComputeTimes&)> ready =
            [at](const ComputeTimes& one) { return one.ready_ns[at]; };
        compute(Phase::backward, between(times, before, ready));
        before = ready;
        for (; next < buckets.size() && last_of[next] == at; ++next)
            about(Task::Kind::start, Phase::backward, of_buckets[next]);
    }
    compute(Phase::backward, between(times, before, &ComputeTimes::backward_ns));
    for (const int call : of_buckets) about(Task::Kind::wait, Phase::backward, call);
    program.tasks.push_back(std::move(tasks));  // of all ranks
    return program;
}

namespace {

constexpr SettingRow settings[] = {
    {"model", "whose gradients: see 'tutti workload --list-models'", "resnet50"},
    scale_setting,
    {"bucket-cap", "a bucket is closed once it has so many bytes; auto: what leaves least exposed",
     "25M"},
    {"first-bucket", "the same of the first bucket", "1M"},
    {"network",
     "for --bucket-cap auto: latency and bandwidth such as 100us+1.25GB/s; measured: of the first "
     "way",
     "measured"},
    {"step-time", "what a step computes in all, forward and backward; by formula between gradients",
     "100ms"},
    {"broadcast-buffers", "yes, no: batch norm's, before each forward", "yes"},
};

Model model_of(const Settings& asked) {
    Model model = asked_model(asked);
    if (!asked.yes("broadcast-buffers")) model.buffers.clear();
    return model;
}

bool searches_cap(const Settings& asked) { return asked.text("bucket-cap") == "auto"; }

std::optional<Channel> network_of(const Settings& asked) {
    if (asked.text("network") == "measured") return std::nullopt;
    return parse_channel(asked.text("network"));
}

void check_settings(const Settings& asked) {
    const Model model = model_of(asked);
    const Bytes first = asked.bytes("first-bucket");
    buckets_of(model, Bytes{4}, {first, searches_cap(asked) ? first : asked.bytes("bucket-cap")});
    if (network_of(asked) && !searches_cap(asked))
        throw Error("--network is what --bucket-cap auto is found for; type that, too");
    asked.seconds("step-time");
}

// Tells what each cap would leave exposed.
BucketCaps find_caps(const Settings& asked, const Model& model, const ComputeTimes& times,
                     const WorkloadEnvironment& environment, std::vector<std::string>& notes) {
    const auto given = network_of(asked);
    // The same on all ranks, as it decides what they send.
    const Channel channel =
        from_rank0(environment.planner.world(), given ? *given : measured_channel(environment));
    std::vector<std::int64_t> counts;
    for (const int parameter : model.ready_order)
        counts.push_back(model.parameters[static_cast<std::size_t>(parameter)].count());
    const auto tried =
        try_caps(counts, Bytes{4}, asked.bytes("first-bucket"), {&times, 1}, channel);
    notes.push_back(fmt::format("network, {}: {:.1f} us + {:.3f} GB/s",
                                given ? "as given" : "measured", channel.latency_ns * 1e-3,
                                1 / channel.ns_per_byte));
    for (const CapTried& one : tried)
        notes.push_back(fmt::format("bucket cap {:>5}: {:4} buckets leave {:.3f} ms exposed{}",
                                    to_string(one.caps.others), one.buckets, one.exposed_ns * 1e-6,
                                    &one == &best_of(tried) ? ", the least" : ""));
    return best_of(tried).caps;
}

std::unique_ptr<Scenario> make(const Settings& asked, const WorkloadEnvironment& environment) {
    const Model model = model_of(asked);
    const ComputeTimes times =
        step_times_by_formula(model, static_cast<std::int64_t>(asked.seconds("step-time") * 1e9));
    std::vector<std::string> notes;
    const BucketCaps caps =
        searches_cap(asked) ? find_caps(asked, model, times, environment, notes)
                            : BucketCaps{asked.bytes("first-bucket"), asked.bytes("bucket-cap")};
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
                "data parallel: buckets of gradients averaged while backward goes on "
                "(PyTorch's DistributedDataParallel)",
            .settings = settings,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
