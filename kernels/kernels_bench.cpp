// SPDX-License-Identifier: Apache-2.0
// Measures how fast the reduce kernels of each set move bytes, compared with memcpy, in and out of
// the caches. Bytes moved are those read from every source plus those written to every out. Other
// processes disturb: run with --benchmark_enable_random_interleaving=true and repetitions.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/copy.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

/// The cache or memory that holds all buffers of one benchmark, and their total size.
struct Place {
    const char* name;
    std::size_t bytes;
};
constexpr Place places[] = {{"L1", 24 << 10}, {"L2", 480 << 10}, {"memory", 192 << 20}};
constexpr DataType types[] = {DataType::float32, DataType::float64, DataType::int32, DataType::half,
                              DataType::bfloat16};

/// The number of sources that are combined, and of outs.
struct Shape {
    std::size_t sources, outs;
    std::size_t buffers() const { return sources + outs; }
};
constexpr Shape shapes[] = {{2, 1}, {2, 2}, {4, 1}, {4, 4}};

std::string name_of(Shape shape) {
    return std::to_string(shape.sources) + "to" + std::to_string(shape.outs);
}

std::string_view name_of(Stores stores) {
    return stores == Stores::cached ? "cached" : "streaming";
}

/// Buffers on separate pages, each one line further, or they would share cache sets.
class Buffers {
public:
    Buffers(std::size_t how_many, std::size_t bytes) : memory_(how_many * (bytes + line) + page) {
        void* start = memory_.data();
        std::size_t space = memory_.size();
        std::align(page, how_many * (bytes + line), start, space);
        for (std::size_t i = 0; i < how_many; ++i)
            starts_.push_back(static_cast<std::byte*>(start) + i * (bytes + line));
    }
    std::byte* const* first(std::size_t i) const { return &starts_[i]; }

private:
    static constexpr std::size_t line = 64, page = 4096;
    std::vector<std::byte> memory_;
    std::vector<std::byte*> starts_;
};

/// Returns the size of one of `buffers` buffers, in whole lines.
std::size_t share(const Place& place, std::size_t buffers) { return place.bytes / buffers & ~63ul; }

void count_bytes(benchmark::State& state, std::size_t bytes_each) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes_each));
}

template <class Copy>
void time_copy(benchmark::State& state, const Place& place, Copy copy) {
    const std::size_t bytes = share(place, 2);
    const Buffers buffers(2, bytes);
    for (auto _ : state) {
        copy(*buffers.first(0), *buffers.first(1), bytes);
        benchmark::ClobberMemory();
    }
    count_bytes(state, 2 * bytes);
}

void time_kernel(benchmark::State& state, ReduceKernel kernel, const Place& place, Shape shape,
                 std::size_t element_size) {
    const std::size_t bytes = share(place, shape.buffers());
    const Buffers buffers(shape.buffers(), bytes);
    for (auto _ : state) {
        kernel(buffers.first(0), shape.outs, buffers.first(shape.outs), shape.sources,
               bytes / element_size);
        benchmark::ClobberMemory();
    }
    count_bytes(state, shape.buffers() * bytes);
}

void register_copies(const Place& place) {
    const std::string name = std::string("copy/") + place.name;
    benchmark::RegisterBenchmark((name + "/memcpy").c_str(), time_copy<decltype(&std::memcpy)>,
                                 place, &std::memcpy);
    benchmark::RegisterBenchmark((name + "/in blocks").c_str(),
                                 time_copy<decltype(&copy_in_blocks)>, place, &copy_in_blocks);
    for (const KernelSet& set : kernel_sets())
        if (const ReduceKernel copy = set.find(DataType::uint8, Op::sum, Stores::streaming);
            copy != nullptr && set.runs_here())
            benchmark::RegisterBenchmark(
                (name + "/" + std::string(set.name) + "/streaming").c_str(), time_kernel, copy,
                place, Shape{1, 1}, 1);
}

void register_sums(const Place& place, const KernelSet& set, DataType type, Stores stores) {
    const ReduceKernel kernel = set.find(type, Op::sum, stores);
    if (kernel == nullptr || !set.runs_here()) return;
    for (Shape shape : shapes) {
        const std::string name = std::string("sum/") + place.name + "/" +
                                 std::string(name_of(type)) + "/" + name_of(shape) + "/" +
                                 std::string(set.name) + "/" + std::string(name_of(stores));
        benchmark::RegisterBenchmark(name.c_str(), time_kernel, kernel, place, shape,
                                     size_of(type));
    }
}

void register_all() {
    for (const Place& place : places) {
        register_copies(place);
        for (DataType type : types)
            for (const KernelSet& set : kernel_sets())
                for (Stores stores : {Stores::cached, Stores::streaming})
                    register_sums(place, set, type, stores);
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
