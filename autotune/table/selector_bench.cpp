// SPDX-License-Identifier: Apache-2.0
// Measures the cost of asking a table before a call. The loop alone, with its random questions, is
// measured next to it. The difference is the selector's own cost, which must stay below 30 ns.
//   selector_bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "autotune/table/selector.hpp"

namespace tutti {
namespace {

const JobShape job_shape{.ranks = 4, .ranks_per_host = 4, .topology = "bench"};

// Builds every possible subject with a range for each octave from 8 B to 4 MiB.
Table full_table() {
    Table table;
    for (const Collective collective : all_collectives())
        for (const BufferKind buffers : {BufferKind::registered, BufferKind::unregistered})
            for (const DataType type : {DataType::float32, DataType::half})
                for (const Op op : {Op::sum, Op::avg}) {
                    const Subject subject{collective, class_of(collective, type),
                                          class_of(collective, op), buffers};
                    if (find_section(table, job_shape, subject)) continue;
                    Section& section = table.sections.emplace_back();
                    section = {.job_shape = job_shape, .subject = subject};
                    section.ranges.push_back({.from = {0}, .choice = {.algorithm = "smallest"}});
                    for (std::int64_t from = 12; from < 4 << 20; from *= 2)
                        section.ranges.push_back(
                            {.from = {from}, .choice = {.algorithm = std::to_string(from)}});
                }
    return table;
}

struct Question {
    Collective collective;
    DataType type;
    Op op;
    BufferKind buffers;
    Bytes bytes;
};

// More questions than branch predictors remember; sizes are uniform in their logarithm.
std::vector<Question> random_questions() {
    std::mt19937_64 random(1);
    const auto one_of = [&](auto all) { return all[random() % all.size()]; };
    std::vector<Question> questions(1 << 14);
    for (Question& question : questions) {
        const auto bits = random() % 23;
        question = {one_of(all_collectives()), one_of(all_data_types()), one_of(all_ops()),
                    random() % 2 == 0 ? BufferKind::registered : BufferKind::unregistered,
                    Bytes{static_cast<std::int64_t>(random() >> 41 >> bits)}};
    }
    return questions;
}

void asking_only(benchmark::State& state) {
    const std::vector<Question> questions = random_questions();
    std::size_t next = 0;
    for (auto _ : state) {
        Question question = questions[next++ % questions.size()];
        benchmark::DoNotOptimize(question);
    }
}
BENCHMARK(asking_only);

void pick(benchmark::State& state) {
    const Selector selector(full_table(), job_shape);
    const std::vector<Question> questions = random_questions();
    std::size_t next = 0;
    for (auto _ : state) {
        const Question& q = questions[next++ % questions.size()];
        benchmark::DoNotOptimize(selector.pick(q.collective, q.type, q.op, q.buffers, q.bytes));
    }
}
BENCHMARK(pick);

// Imitates a program that repeats the same call.
void pick_the_same(benchmark::State& state) {
    const Selector selector(full_table(), job_shape);
    Question q{
        Collective::all_reduce, DataType::float32, Op::sum, BufferKind::unregistered, {50'000}};
    for (auto _ : state) {
        benchmark::DoNotOptimize(q);
        benchmark::DoNotOptimize(selector.pick(q.collective, q.type, q.op, q.buffers, q.bytes));
    }
}
BENCHMARK(pick_the_same);

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
