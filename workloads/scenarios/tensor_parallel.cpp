// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "base/units.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

// Writes the step of one block of ranks that share the layers.
class Block {
public:
    Block(Program& program, const TensorShape& shape, std::int64_t hidden, int index,
          std::vector<Rank> members)
        : shape_(shape),
          activations_(shape.tokens * hidden),
          memory_(index * memories),
          ranks_(program, std::move(members)) {}

    void compute(std::int64_t ns, Phase phase) { ranks_.compute(ns, phase); }

    void sum(const std::string& label, Phase phase) {
        ranks_.wait(
            begin(label, phase, Collective::all_reduce, shape_.type, activations_, Op::sum, 0),
            phase);
    }

    // For each token: the greatest logit, the sum of all, and the one of the right word.
    void loss() {
        for (const Op op : {Op::max, Op::sum, Op::sum})
            ranks_.wait(begin("loss", Phase::forward, Collective::all_reduce, DataType::float32,
                              shape_.tokens, op, op == Op::max ? 1 : 2),
                        Phase::forward);
    }

    void forward_half(const std::string& label, std::int64_t ns) {
        if (shape_.sequence_parallel) ranks_.wait(gather(label, Phase::forward, 3), Phase::forward);
        compute(ns, Phase::forward);
        if (shape_.sequence_parallel)
            scatter(label, Phase::forward);
        else
            sum(label, Phase::forward);
    }

    void backward_half(const std::string& label, std::int64_t ns) {
        if (!shape_.sequence_parallel) {
            compute(ns, Phase::backward);
            return sum(label, Phase::backward);
        }
        ranks_.wait(gather(label, Phase::backward, 3), Phase::backward);
        const int input = gather(label + " input", Phase::backward, 4);  // weights' gradients
        compute(ns / 2, Phase::backward);
        ranks_.wait(input, Phase::backward);
        compute(ns - ns / 2, Phase::backward);
        scatter(label, Phase::backward);
    }

private:
    std::int64_t share() const { return divide_up(activations_, std::ssize(ranks_.members())); }

    int begin(const std::string& label, Phase phase, Collective collective, DataType type,
              std::int64_t count, Op op, int memory) {
        const int call = ranks_.add_call(
            {.label = label,
             .call = {.collective = collective, .type = type, .op = op, .count = count},
             .in_place = collective == Collective::all_reduce,
             .memory = memory_ + memory});
        ranks_.start(call, phase);
        return call;
    }

    int gather(const std::string& label, Phase phase, int memory) {
        return begin(label + " gather", phase, Collective::all_gather, shape_.type, share(),
                     Op::sum, memory);
    }

    void scatter(const std::string& label, Phase phase) {
        ranks_.wait(begin(label + " scatter", phase, Collective::reduce_scatter, shape_.type,
                          share(), Op::sum, 5),
                    phase);
    }

    static constexpr int memories = 6;

    const TensorShape& shape_;
    std::int64_t activations_;
    int memory_;
    GroupWriter ranks_;
};

}  // namespace

Program tensor_parallel_program(const Model& model, const TensorShape& shape,
                                std::int64_t compute_ns, int ranks) {
    const RankGrid grid = grid_of(ranks, shape.tensor_ranks, "tensor-ranks");
    const auto times = unit_times(model, compute_ns);
    const auto counts = model.unit_counts();
    const int units = model.units(), last = units - 1;
    Program program = empty_program(model, ranks);
    // By unit: the averages of all places in a block, if there are replicas.
    std::vector<std::vector<int>> averages(as_size(units));
    if (grid.blocks > 1)
        for (int place = 0; place < grid.inner; ++place) {
            GroupWriter replicas(program, grid.across(place));
            for (int unit = last; unit >= 0; --unit) {
                at(averages, unit)
                    .push_back(replicas.add_call(
                        all_reduce_call(fmt::format("gradients {}", unit), shape.type,
                                        divide_up(at(counts, unit), grid.inner))));
            }
        }
    const auto for_averages = [&](int unit, int index, const auto& visit) {
        const auto& calls = at(averages, unit);
        for (std::size_t place = 0; place < calls.size(); ++place)
            visit(grid.block(index)[place], calls[place]);
    };
    const auto begin_averages = [&](int unit, int index) {
        for_averages(unit, index,
                     [&](Rank rank, int call) { program.start(rank, call, Phase::backward); });
    };
    for (int index = 0; index < grid.blocks; ++index) {
        Block block(program, shape, model.transformer->hidden, index, grid.block(index));
        block.compute(times.front().forward_ns, Phase::forward);
        block.sum("embedding", Phase::forward);
        for (int unit = 1; unit < last; ++unit) {
            const std::int64_t ns = at(times, unit).forward_ns;
            block.forward_half(fmt::format("attention {}", unit), ns / 2);
            block.forward_half(fmt::format("feed-forward {}", unit), ns - ns / 2);
        }
        block.compute(times.back().forward_ns, Phase::forward);
        block.loss();
        block.compute(times.back().backward_ns, Phase::backward);
        begin_averages(last, index);
        for (int unit = last - 1; unit > 0; --unit) {
            const std::int64_t ns = at(times, unit).backward_ns;
            block.backward_half(fmt::format("feed-forward {}", unit), ns / 2);
            block.backward_half(fmt::format("attention {}", unit), ns - ns / 2);
            begin_averages(unit, index);
        }
        block.sum("embedding", Phase::backward);
        block.compute(times.front().backward_ns, Phase::backward);
        begin_averages(0, index);
        for (int unit = last; unit >= 0; --unit)
            for_averages(unit, index,
                         [&](Rank rank, int call) { program.wait(rank, call, Phase::optimizer); });
    }
    return program;
}

namespace {

constexpr SettingRow setting_rows[] = {
    {"model", "Transformer whose layers are sharded", "gpt2"},
    scale_setting,
    {"tensor-ranks", "Ranks that share each layer; further ranks are replicas; 0: all ranks", "0"},
    {"sequence-parallel", "Use all-gather and reduce-scatter instead of all-reduce: yes or no",
     "no"},
    tokens_setting,
    type_setting,
    step_time_setting,
};

constexpr const char* default_models = "gpt2, bert-base, llama3-8b";

TensorShape shape_of(const Settings& settings, const Model& model, int ranks) {
    const std::int64_t heads = model.transformer->heads;
    const auto tensor_ranks = settings.number("tensor-ranks", 0, 4096);
    const auto shared_by = tensor_ranks > 0 ? tensor_ranks : ranks;
    if (shared_by > heads)
        throw Error(
            fmt::format("{} ranks cannot share the {} attention heads of {}; use "
                        "--tensor-ranks with at most {}",
                        shared_by, heads, model.name, heads));
    return {.tensor_ranks = static_cast<int>(shared_by),
            .tokens = tokens_of(settings, model),
            .sequence_parallel = settings.yes("sequence-parallel"),
            .type = element_type(settings)};
}

void check_settings(const Settings& settings) {
    shape_of(settings, transformer_model(settings, default_models), 1);
    step_ns_of(settings);
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Model model = transformer_model(settings, default_models);
    const int ranks = environment.planner.world().size();
    const TensorShape shape = shape_of(settings, model, ranks);
    Program program = tensor_parallel_program(model, shape, step_ns_of(settings), ranks);
    std::vector<std::string> notes{fmt::format(
        "{}: {} layers, each shared by {}, {}; {} bytes of activations "
        "for {}",
        model.name, model.transformer->layers, counted(shape.tensor_ranks, "rank"),
        counted(ranks / shape.tensor_ranks, "replica"),
        shape.tokens * model.transformer->hidden * static_cast<std::int64_t>(size_of(shape.type)),
        counted(shape.tokens, "token"))};
    return scenario_of(std::move(program), std::move(notes), {}, environment);
}

}  // namespace

Workload tensor_parallel_workload() {
    return {.name = "tensor-parallel",
            .what =
                "tensor parallel: activations summed twice per layer and direction (Megatron-LM), "
                "or gathered and scattered (sequence parallel)",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
