// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of a call of a communicator over its bare plan: checking the lengths,
// finding the plan and binding the buffers.
//   communicator_bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "collectives/planner/planner.hpp"
#include "tutti/communicator.hpp"

namespace tutti {
namespace {

constexpr std::size_t elements = 2;

std::unique_ptr<Plan> bare_plan(Planner& planner, std::span<const float> input,
                                std::span<float> output) {
    const Algorithm& butterfly = find_algorithm(Collective::all_reduce, "butterfly");
    return planner.plan({&butterfly, {.transport = "shm"}}, {.count = elements},
                        {std::as_bytes(input), std::as_writable_bytes(output)});
}

void plan_of_one_rank(benchmark::State& state) {
    const auto world = world_of_one();
    Planner planner(*world);
    std::vector<float> input(elements), output(elements);
    const auto plan = bare_plan(planner, input, output);
    for (auto _ : state) plan->run();
}
BENCHMARK(plan_of_one_rank);

void call_of_one_rank(benchmark::State& state) {
    Communicator self = Communicator::self();
    std::vector<float> input(elements), output(elements);
    for (auto _ : state) self.all_reduce(input, output);
}
BENCHMARK(call_of_one_rank);

// Alternates between two pairs of buffers.
void call_of_one_rank_in_other_buffers(benchmark::State& state) {
    Communicator self = Communicator::self();
    std::vector<float> input(elements), output(elements), others(elements), results(elements);
    for (auto _ : state) {
        self.all_reduce(input, output);
        self.all_reduce(others, results);
    }
    state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(call_of_one_rank_in_other_buffers);

// Each call has another length than the one before. With 1, the communicator learns.
void call_of_one_rank_of_other_lengths(benchmark::State& state) {
    CommunicatorOptions options;
    if (state.range(0) != 0) options.learn = Learning{};
    Communicator self = Communicator::self(options);
    std::vector<float> input(100), output(100);
    std::size_t count = 0;
    for (auto _ : state) {
        count = (count * 5 + 17) % 97;
        self.all_reduce(std::span(input).first(count), std::span(output).first(count));
    }
}
BENCHMARK(call_of_one_rank_of_other_lengths)->Arg(0)->Arg(1);

// With a thousand kinds of calls in the cache.
void call_of_one_rank_among_many(benchmark::State& state) {
    Communicator self = Communicator::self({.most_plans = 2000});
    std::vector<float> input(1000), output(1000);
    for (std::size_t count = 0; count < 1000; ++count)
        self.all_reduce(std::span(input).first(count), std::span(output).first(count));
    for (auto _ : state)
        self.all_reduce(std::span(input).first(elements), std::span(output).first(elements));
}
BENCHMARK(call_of_one_rank_among_many);

void start_and_wait_of_one_rank(benchmark::State& state) {
    Communicator self = Communicator::self();
    std::vector<float> input(elements), output(elements);
    for (auto _ : state) self.start_all_reduce(input, output).wait();
}
BENCHMARK(start_and_wait_of_one_rank);

// Two ranks as threads. Rank 0 times a fixed number of calls, because rank 1 must make as many.
constexpr int rounds = 1000;

template <class MakeCall>
void on_two_ranks(benchmark::State& state, const MakeCall& make_call) {
    run_as_threads(2, 30, [&](World& world) {
        std::vector<float> input(elements), output(elements);
        const auto held = make_call(world, input, output);
        const auto one_round = [&] {
            for (int i = 0; i < rounds; ++i) held();
        };
        if (world.is_first()) {
            for (auto _ : state) {
                from_rank0(world, true);
                one_round();
            }
            from_rank0(world, false);
        } else {
            while (from_rank0(world, false)) one_round();
        }
    });
    state.SetItemsProcessed(rounds * state.iterations());
}

void plan_of_two_ranks(benchmark::State& state) {
    on_two_ranks(state, [](World& world, auto& input, auto& output) {
        auto planner = std::make_shared<Planner>(world);
        std::shared_ptr<Plan> plan = bare_plan(*planner, input, output);
        return [planner, plan] { plan->run(); };
    });
}
BENCHMARK(plan_of_two_ranks)->UseRealTime();

void call_of_two_ranks(benchmark::State& state) {
    on_two_ranks(state, [](World& world, auto& input, auto& output) {
        auto communicator = std::make_shared<Communicator>(world);
        return [communicator, &input, &output] { communicator->all_reduce(input, output); };
    });
}
BENCHMARK(call_of_two_ranks)->UseRealTime();

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
