// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the executors without the transport. Each benchmark of a plan has a
// counterpart that uses the bare transport without a plan; the difference is the executor's own
// share.
//   executor_bench --benchmark_counters_tabular=true
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <future>

#include "collectives/execute/plans.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

constexpr int steps = 1000;

void report(benchmark::State& state) {
    using benchmark::Counter;
    state.counters["per_step"] =
        Counter(steps, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// Rank 0 sends an element to rank 1 at each step, or the two exchange one.
Schedule sending() {
    return Schedule{{.ranks = 2, .chunks = 2, .steps = steps}, [](int, Step& step) {
                        step.copy({.chunks = {0, 1}, .from = {0}, .to = {1}});
                    }};
}

Schedule exchanging() {
    return Schedule{{.ranks = 2, .chunks = 2, .steps = steps}, [](int, Step& step) {
                        step.copy({.chunks = {0, 1}, .from = {0}, .to = {1}});
                        step.copy({.chunks = {1, 1}, .from = {1}, .to = {0}});
                    }};
}

// Two floats per rank, and the input of a plan's compilation.
struct Buffers {
    float input[2] = {1, 2};
    float output[2] = {};

    PlanRequest request(const Schedule& schedule) {
        return {.schedule = schedule,
                .call = {.collective = Collective::all_reduce, .count = 2},
                .buffers = {.input = std::as_bytes(std::span(input)),
                            .output = std::as_writable_bytes(std::span(output))},
                .what = "benchmark"};
    }
};

std::unique_ptr<Plan> bound(std::unique_ptr<Plan> plan, const PlanRequest& request) {
    plan->bind(request.call, request.buffers);
    return plan;
}

// Messages complete as soon as they are posted, so only the executor's cost remains.
class NullTransport final : public MessageTransport {
public:
    class NullEndpoint final : public Endpoint {
    public:
        void post_receive(int, Rank, std::span<std::byte> into) override {
            benchmark::DoNotOptimize(into.data());
        }
        void post_send(int, Rank, std::span<const std::byte> from) override {
            benchmark::DoNotOptimize(from.data());
        }
        bool all_done() override { return true; }
        std::optional<Rank> waits_for() const override { return std::nullopt; }
    };

    std::string_view name() const override { return "null"; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds&) override {
        return std::make_unique<NullEndpoint>();
    }
};

// (a) The cost of a run without any work.
void empty_plan(benchmark::State& state) {
    run_as_threads(1, 30, [&](World& world) {
        Progress progress(world);
        NullTransport transport;
        Buffers buffers;
        const Schedule nothing{{.ranks = 1, .chunks = 1, .steps = 0}, [](int, Step&) {}};
        PlanRequest request = buffers.request(nothing);
        request.buffers.output =
            std::as_writable_bytes(std::span(buffers.input));  // in place: no copy either
        request.buffers.in_place = true;
        request.method = TransferMethod::messages;
        const auto plan = bound(host_plan(progress, &transport, request), request);
        for (auto _ : state) plan->run();
    });
}
BENCHMARK(empty_plan);

// (b) A send and a receive at each step.
void messages_by_plan(benchmark::State& state) {
    run_as_threads(1, 30, [&](World& world) {
        Progress progress(world);
        NullTransport transport;
        Buffers buffers;
        const Schedule schedule = exchanging();
        PlanRequest request = buffers.request(schedule);
        request.method = TransferMethod::messages;
        const auto plan = bound(host_plan(progress, &transport, request), request);
        for (auto _ : state) plan->run();
    });
    report(state);
}
BENCHMARK(messages_by_plan);

void messages_bare(benchmark::State& state) {
    Buffers buffers;
    NullTransport::NullEndpoint endpoint;  // no virtual calls: they count as the plan's
    for (auto _ : state)
        for (int step = 0; step < steps; ++step) {
            endpoint.post_receive(step, Rank{1},
                                  std::as_writable_bytes(std::span(buffers.output)).first(4));
            endpoint.post_send(step, Rank{1}, std::as_bytes(std::span(buffers.input)).first(4));
            while (!endpoint.all_done()) {
            }
        }
    report(state);
}
BENCHMARK(messages_bare);

// (c) One thread advances both ranks' plans, so that no wait is ever in vain: first the sender
// executes all its steps, then the receiver.
void direct_by_plan(benchmark::State& state) {
    std::promise<Plan*> sender;
    std::promise<void> over;
    run_as_threads(2, 30, [&](World& world) {
        Progress progress(world);
        Buffers buffers;
        const Schedule schedule = sending();
        const PlanRequest request = buffers.request(schedule);
        const auto plan = bound(host_plan(progress, nullptr, request), request);
        if (world.is_first()) {
            sender.set_value(plan.get());
            over.get_future().wait();
            return;
        }
        Plan& other = *sender.get_future().get();
        for (auto _ : state) {
            other.start();
            other.test();
            plan->start();
            plan->test();
            other.test();
        }
        over.set_value();
    });
    report(state);
}
BENCHMARK(direct_by_plan);

struct Shared {
    alignas(64) std::atomic<std::uint64_t> counter{0};
    alignas(64) float element = 0;
};

// The same without plans: the sender increments; the receiver polls, copies, increments.
void direct_bare(benchmark::State& state) {
    Shared sender, receiver;
    std::uint64_t base = 0;
    for (auto _ : state) {
        for (std::uint64_t step = 1; step <= steps; ++step)
            sender.counter.store(base + step, std::memory_order_release);
        for (std::uint64_t step = 1; step <= steps; ++step) {
            while (sender.counter.load(std::memory_order_acquire) < base + step) {
            }
            std::memcpy(&receiver.element, &sender.element, sizeof sender.element);
            receiver.counter.store(base + step, std::memory_order_release);
        }
        base += steps;
    }
    report(state);
}
BENCHMARK(direct_bare);

// (d) Two cores exchange an element at each step: here the transfer of cache lines between the
// cores dominates. A negative element says that this run is the last.
void signal_by_plan(benchmark::State& state) {
    run_as_threads(2, 30, [&](World& world) {
        Progress progress(world);
        Buffers buffers;
        const Schedule schedule = exchanging();
        const PlanRequest request = buffers.request(schedule);
        const auto plan = bound(host_plan(progress, nullptr, request), request);
        if (world.is_first()) {
            for (auto _ : state) plan->run();
            buffers.input[0] = -1;
            plan->run();
        } else {
            do plan->run();
            while (buffers.output[0] > 0);
        }
    });
    report(state);
}
BENCHMARK(signal_by_plan)->UseRealTime();

// One run as the plan does it, up to the last reader.
void signal_once(const World& world, Shared& mine, const Shared& theirs, float& received) {
    const auto wait_for = [&](std::uint64_t count) {
        Backoff backoff(world);
        while (theirs.counter.load(std::memory_order_acquire) < count) backoff.pause();
    };
    const std::uint64_t base = mine.counter.load(std::memory_order_relaxed) + 1;
    mine.counter.store(base, std::memory_order_release);
    for (std::uint64_t step = 0; step < steps; ++step) {
        wait_for(base + step);
        std::memcpy(&received, &theirs.element, sizeof received);
        mine.counter.store(base + step + 1, std::memory_order_release);
    }
    wait_for(base + steps);
}

void signal_bare(benchmark::State& state) {
    Shared first{.element = 1}, second{.element = 1};
    run_as_threads(2, 30, [&](World& world) {
        float received = 0;
        if (world.is_first()) {
            for (auto _ : state) signal_once(world, first, second, received);
            first.element = -1;
            signal_once(world, first, second, received);
        } else {
            do signal_once(world, second, first, received);
            while (received > 0);
        }
    });
    report(state);
}
BENCHMARK(signal_bare)->UseRealTime();

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
