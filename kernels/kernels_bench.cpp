// SPDX-License-Identifier: Apache-2.0
// How fast the reduce kernels of each set move bytes, against memcpy, in and out of the caches.
// Bytes moved are those read from every source plus those written.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/sets.hpp"

namespace tutti {
namespace {

/// Bytes of one buffer, such that four sources and a result together fit (or do not).
struct Place {
    const char* name;
    std::size_t bytes;
};
constexpr Place places[] = {{"L1", 4 << 10}, {"L2", 64 << 10}, {"memory", 64 << 20}};
constexpr DataType types[] = {DataType::float32, DataType::float64, DataType::int32, DataType::half,
                              DataType::bfloat16};

/// Buffers on lines and pages of their own; one line further each, or they would share cache sets.
class Buffers {
public:
    Buffers(std::size_t how_many, std::size_t bytes) : memory_(how_many * (bytes + line) + page) {
        void* start = memory_.data();
        std::size_t space = memory_.size();
        std::align(page, how_many * (bytes + line), start, space);
        for (std::size_t i = 0; i < how_many; ++i)
            starts_.push_back(static_cast<std::byte*>(start) + i * (bytes + line));
    }
    std::byte* operator[](std::size_t i) const { return starts_[i]; }

private:
    static constexpr std::size_t line = 64, page = 4096;
    std::vector<std::byte> memory_;
    std::vector<std::byte*> starts_;
};

void count_bytes(benchmark::State& state, std::size_t bytes_each) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes_each));
}

void time_copy(benchmark::State& state, std::size_t bytes) {
    const Buffers buffers(2, bytes);
    for (auto _ : state) {
        std::memcpy(buffers[0], buffers[1], bytes);
        benchmark::ClobberMemory();
    }
    count_bytes(state, 2 * bytes);
}

void time_reduce(benchmark::State& state, ReduceKernel kernel, std::size_t how_many,
                 std::size_t bytes, std::size_t count) {
    const Buffers buffers(how_many + 1, bytes);
    std::vector<const std::byte*> sources;
    for (std::size_t s = 1; s <= how_many; ++s) sources.push_back(buffers[s]);
    const std::vector<std::byte*> outs{buffers[0]};
    for (auto _ : state) {
        kernel(outs.data(), outs.size(), sources.data(), how_many, count);
        benchmark::ClobberMemory();
    }
    count_bytes(state, (how_many + 1) * bytes);
}

void register_reduce(const KernelSet& set, DataType type, const Place& place) {
    const ReduceKernel kernel = set.find(type, Op::sum, Stores::cached);
    if (kernel == nullptr) return;
    for (std::size_t how_many : {2, 4}) {
        const std::string name = std::string("sum/") + place.name + "/" +
                                 std::string(name_of(type)) + "/" + std::to_string(how_many) +
                                 "_sources/" + std::string(set.name);
        benchmark::RegisterBenchmark(name.c_str(), time_reduce, kernel, how_many, place.bytes,
                                     place.bytes / size_of(type));
    }
}

void register_all() {
    for (const Place& place : places) {
        benchmark::RegisterBenchmark((std::string("memcpy/") + place.name).c_str(), time_copy,
                                     place.bytes);
        for (DataType type : types)
            for (const KernelSet& set : kernel_sets())
                if (set.runs_here()) register_reduce(set, type, place);
    }
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
    tutti::register_all();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
