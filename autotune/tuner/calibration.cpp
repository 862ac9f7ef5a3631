// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/calibration.hpp"

#include <array>

#include "autotune/model/calibrate.hpp"
#include "autotune/model/model_json.hpp"
#include "base/clock.hpp"
#include "workloads/bench/sweep.hpp"
#include "workloads/timing/core_watch.hpp"

namespace tutti {
namespace {

struct Schedules {
    Collective collective;
    std::vector<std::string> algorithms;
};

// One step and many, from a root and all at once, sums read by all or written to all, in segments
// and whole.
const Schedules schedules[] = {
    {Collective::all_reduce, {"one-shot", "two-shot", "ring", "tree", "chain"}},
    {Collective::broadcast, {"linear", "ring", "chain"}},
    {Collective::reduce, {"linear", "tree"}},
    {Collective::all_gather, {"one-shot", "linear", "bruck"}},
    {Collective::reduce_scatter, {"one-shot", "ring"}},
    {Collective::scatter, {"linear", "tree"}},
    {Collective::gather, {"linear", "tree"}},
    {Collective::all_to_all, {"linear", "bruck"}},
    {Collective::barrier, {"dissemination", "linear"}},
    {Collective::scan, {"doubling", "chain"}},
    {Collective::exscan, {"one-shot"}},
};

// Values of the size column (total_bytes). Messages of these sizes and of parts of them hit every
// point of the curves.
constexpr std::array<std::int64_t, 9> sizes{64,       512,       2 << 10,   4 << 10, 8 << 10,
                                            32 << 10, 128 << 10, 512 << 10, 4 << 20};

}  // namespace

std::vector<ModelProbe> calibration_plan(const Placement& hosts,
                                         std::span<const std::string> transports,
                                         std::span<const BufferKind> kinds) {
    std::vector<ModelProbe> plan;
    RoutedCall call{.hosts = hosts};
    for (const auto& [collective, algorithms] : schedules)
        for (const std::int64_t size : sizes) {
            if (!has_buffers(collective) && size != sizes.front()) continue;  // all are equal
            for (const BufferKind kind : kinds)
                for (const std::string& transport : transports)
                    for (const std::string& algorithm : algorithms) {
                        call.buffers = kind;
                        call.call = {.collective = collective,
                                     .count = count_for(collective, DataType::float32, call.ranks(),
                                                        Bytes{size})};
                        ModelProbe& probe = plan.emplace_back();
                        probe.configuration.algorithm = algorithm;
                        probe.configuration.transport = transport;
                        probe.call = call;
                    }
        }
    return plan;
}

namespace {

constexpr int repetitions = 2;  // few, because there are some thousand probes

std::size_t most_bytes(const std::vector<ModelProbe>& plan, int ranks) {
    std::size_t most = 0;
    for (const ModelProbe& probe : plan)
        most = std::max(most, BufferPool::bytes_for(probe.call.call, ranks, false));
    return most;
}

bool is_same_call(const ModelProbe& one, const ModelProbe& other) {
    const Call &a = one.call.call, &b = other.call.call;
    return a.collective == b.collective && a.count == b.count &&
           one.call.buffers == other.call.buffers;
}

// Measures probes of the same call, alternating.
void measure_together(Planner& planner, const BufferPool& pool, const TuneRequest& request,
                      std::span<const ModelProbe> probes, std::vector<Observation>& observations) {
    World& world = planner.world();
    const RoutedCall& asked = probes.front().call;
    const PooledBuffers buffers = pool.buffers_for(asked.call, false, asked.buffers);
    std::vector<const ModelProbe*> taking_part;
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<Trial> trials;
    for (const ModelProbe& probe : probes) {
        const OperationRequest call{asked.call, buffers.call, buffers.registered};
        if (!true_on_all_ranks(
                world, !refusal(planner, probe.configuration, call, request.environment.hosts)))
            continue;
        taking_part.push_back(&probe);
        operations.push_back(
            make_operation(planner, probe.configuration, call, request.environment));
        trials.push_back(trial_of(*operations.back(), world, asked.call, buffers, false));
    }
    Protocol protocol = request.protocol;
    protocol.fixed_samples = repetitions;
    const auto measured = measure(world, trials, protocol);
    for (std::size_t i = 0; i < measured.size(); ++i)
        if (!measured[i].samples.empty())
            observations.push_back(
                {taking_part[i]->configuration, asked,
                 interval_of(std::span<const std::int64_t>(measured[i].samples)).p50});
}

}  // namespace

std::optional<Calibration> calibrate_here(Planner& planner, const TuneRequest& request,
                                          const ModelledMachine& machine) {
    const std::int64_t began = now_ns();
    World& world = planner.world();
    auto kinds = kinds_for(request, world);
    std::erase_if(kinds, [](BufferKind kind) { return !is_modelled(kind); });
    if (kinds.empty()) return std::nullopt;
    const auto plan = calibration_plan(world.hosts(), request.search_space.transports, kinds);
    const BufferPool pool(world, most_bytes(plan, world.size()), kinds);
    std::vector<Observation> observations;
    CoreWatch watch(world);
    for (std::size_t begin = 0, end = 0; begin < plan.size(); begin = end) {
        while (end < plan.size() && is_same_call(plan[begin], plan[end])) ++end;
        measure_together(planner, pool, request, std::span(plan).subspan(begin, end - begin),
                         observations);
    }
    const double taken = watch.share_of_others();
    if (observations.empty()) return std::nullopt;
    std::optional<CostModel> adapted;
    if (world.is_first()) adapted = calibrate(observations, machine);
    return Calibration{.model = model_of_first(world, adapted).value(),
                       .observations = observations,
                       .samples = repetitions * std::ssize(observations),
                       .seconds = seconds_since(began),
                       .taken = taken};
}

std::optional<CostModel> model_of_first(World& world, const std::optional<CostModel>& mine) {
    const std::string text = gather_all_texts(world, mine ? to_json(*mine) : "")[0];
    if (text.empty()) return std::nullopt;
    return model_from_json(text, "the first rank's model");
}

CallPredictor predictor_of_calls(const CostModel& model, const Placement& hosts) {
    return [=](const Configuration& configuration, const Call& call, BufferKind buffers) {
        return model.predict(configuration, {.call = call, .buffers = buffers, .hosts = hosts});
    };
}

std::function<std::optional<double>(const Candidate&, const Call&, BufferKind)>
predictor_of_candidates(const CostModel& model, const Placement& hosts) {
    return
        [predict = predictor_of_calls(model, hosts)](const Candidate& candidate, const Call& call,
                                                     BufferKind buffers) -> std::optional<double> {
            if (!candidate.is_ours() || !candidate.configuration.order.empty()) return std::nullopt;
            return predict(candidate.configuration, call, buffers);
        };
}

}  // namespace tutti
