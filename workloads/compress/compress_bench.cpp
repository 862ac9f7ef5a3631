// SPDX-License-Identifier: Apache-2.0
// Measures how fast gradients are compressed and decompressed; bytes are those of the floats. 1 MiB
// is the first bucket of DistributedDataParallel, 25 MiB each of the others.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/index.hpp"
#include "workloads/compress/codecs.hpp"
#include "workloads/compress/top_k.hpp"
#include "workloads/steps/compression_error.hpp"

namespace tutti {
namespace {

std::vector<float> gradients(const benchmark::State& state) {
    std::vector<float> values(as_size(state.range(0)) / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = gradient_like(1, Rank{0}, static_cast<std::int64_t>(i));
    return values;
}

template <class Work>
void repeat(benchmark::State& state, Work&& work) {
    for (auto _ : state) {
        work();
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

template <class Element>
void encode_cast(benchmark::State& state) {
    const auto from = gradients(state);
    std::vector<Element> to(from.size());
    repeat(state, [&] { encode(from, std::span(to)); });
}

template <class Element>
void decode_cast(benchmark::State& state) {
    auto to = gradients(state);
    std::vector<Element> from(to.size());
    encode(to, std::span(from));
    repeat(state, [&] { decode(std::span<const Element>(from), to); });
}

void encode_blocks(benchmark::State& state) {
    const auto from = gradients(state);
    std::vector<std::byte> to(int8_bytes(from.size()));
    repeat(state, [&] { encode_int8(from, to); });
}

void decode_blocks(benchmark::State& state) {
    auto to = gradients(state);
    std::vector<std::byte> from(int8_bytes(to.size()));
    encode_int8(to, from);
    repeat(state, [&] { decode_int8(from, to); });
}

template <ThresholdSearch search>
void take_percent(benchmark::State& state) {
    const auto gradient = gradients(state);
    TopK top(gradient.size(), search);
    std::vector<SparseEntry> entries(gradient.size() / 100);
    repeat(state, [&] { top.take(gradient, entries); });
}

void add_percent(benchmark::State& state) {
    auto dense = gradients(state);
    TopK top(dense.size(), ThresholdSearch::exact);
    std::vector<SparseEntry> entries(dense.size() / 100);
    top.take(dense, entries);
    repeat(state, [&] { benchmark::DoNotOptimize(add(entries, dense)); });
}

constexpr std::int64_t first = 1 << 20, others = 25 << 20;
BENCHMARK(encode_cast<BFloat16>)->Arg(first)->Arg(others);
BENCHMARK(decode_cast<BFloat16>)->Arg(first)->Arg(others);
BENCHMARK(encode_cast<Half>)->Arg(first)->Arg(others);
BENCHMARK(decode_cast<Half>)->Arg(first)->Arg(others);
BENCHMARK(encode_blocks)->Arg(first)->Arg(others);
BENCHMARK(decode_blocks)->Arg(first)->Arg(others);
BENCHMARK(take_percent<ThresholdSearch::exact>)->Arg(first)->Arg(others);
BENCHMARK(take_percent<ThresholdSearch::sampled>)->Arg(first)->Arg(others);
BENCHMARK(add_percent)->Arg(first)->Arg(others);

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
