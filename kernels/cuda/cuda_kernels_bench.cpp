// SPDX-License-Identifier: Apache-2.0
// Measures how fast the GPU kernels move bytes, each as a fraction (`of_copy`) of cudaMemcpy from
// device to device in the same run. Bytes moved are those read from every source plus those written
// to every out, as for a copy; times are those of CUDA events around one launch.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/kernels.hpp"

namespace tutti::device {
namespace {

constexpr std::size_t most_buffers = 9;  // eight sources and an out

void require(cudaError_t answer) {
    if (answer != cudaSuccess) throw std::runtime_error(cudaGetErrorString(answer));
}

/// Buffers far larger than the caches, for the lifetime of the program.
class Buffers {
public:
    Buffers() {
        std::size_t available = 0, total = 0;
        require(cudaMemGetInfo(&available, &total));
        while (bytes_ > 1 << 20 && most_buffers * bytes_ > available / 10 * 9) bytes_ /= 2;
        for (std::size_t i = 0; i < most_buffers; ++i) {
            void* start = nullptr;
            require(cudaMalloc(&start, bytes_));
            require(cudaMemset(start, 0, bytes_));
            starts_.push_back(static_cast<std::byte*>(start));
        }
    }
    std::byte* operator[](std::size_t i) const { return starts_[i]; }
    std::size_t bytes() const { return bytes_; }
    std::vector<const std::byte*> first(std::size_t how_many) const {
        return {starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(how_many)};
    }

private:
    std::size_t bytes_ = std::size_t{512} << 20;
    std::vector<std::byte*> starts_;
};

class Stopwatch {
public:
    Stopwatch() {
        require(cudaEventCreate(&begin_));
        require(cudaEventCreate(&end_));
    }
    double seconds(const std::function<void()>& launch) {
        require(cudaEventRecord(begin_));
        launch();
        require(cudaEventRecord(end_));
        require(cudaEventSynchronize(end_));
        float milliseconds = 0;
        require(cudaEventElapsedTime(&milliseconds, begin_, end_));
        return static_cast<double>(milliseconds) / 1e3;
    }

private:
    cudaEvent_t begin_{}, end_{};
};

/// A launch, and the bytes that it reads and writes.
struct Work {
    std::string name;
    double bytes;
    std::function<void()> launch;
};

/// Returns bytes per second, as the median of 30 runs after 5 warm-up runs.
double speed_of(const Work& work, Stopwatch& watch) {
    for (int i = 0; i < 5; ++i) watch.seconds(work.launch);
    std::vector<double> seconds;
    for (int i = 0; i < 30; ++i) seconds.push_back(watch.seconds(work.launch));
    std::ranges::nth_element(seconds, seconds.begin() + 15);
    return work.bytes / seconds[15];
}

void time_work(benchmark::State& state, const Work& work, double copy_speed, Stopwatch& watch) {
    watch.seconds(work.launch);
    double seconds = 0;
    for (auto _ : state) {
        const double one = watch.seconds(work.launch);
        state.SetIterationTime(one);
        seconds += one;
    }
    const double speed = work.bytes * static_cast<double>(state.iterations()) / seconds;
    state.counters["GB/s"] = speed / 1e9;
    state.counters["of_copy"] = speed / copy_speed;
}

Work memory_copy(const Buffers& buffers) {
    return {"copy/cudaMemcpy", 2.0 * static_cast<double>(buffers.bytes()), [&buffers] {
                require(cudaMemcpyAsync(buffers[1], buffers[0], buffers.bytes(),
                                        cudaMemcpyDeviceToDevice));
            }};
}

Work own_copy(const Buffers& buffers, int waves) {
    return {
        "copy/kernel/waves:" + std::to_string(waves), 2.0 * static_cast<double>(buffers.bytes()),
        [&buffers, waves] {
            std::byte* const out = buffers[1];
            copy({&out, 1}, buffers[0], static_cast<std::int64_t>(buffers.bytes()), nullptr, waves);
        }};
}

Work reduction(const Buffers& buffers, DataType type, Op op, std::size_t sources, int waves) {
    return {std::string(name_of(op)) + "/" + std::string(name_of(type)) +
                "/sources:" + std::to_string(sources) + "/waves:" + std::to_string(waves),
            static_cast<double>((sources + 1) * buffers.bytes()), [=, &buffers] {
                std::byte* const out = buffers[most_buffers - 1];
                reduce(type, op, {&out, 1}, buffers.first(sources),
                       static_cast<std::int64_t>(buffers.bytes() / size_of(type)), nullptr,
                       static_cast<int>(sources), waves);
            }};
}

Work cast(const Buffers& buffers, DataType type, bool narrows) {
    const auto count = static_cast<std::int64_t>(buffers.bytes() / sizeof(float));
    const double bytes = static_cast<double>(count) * static_cast<double>(4 + size_of(type));
    auto* const floats = reinterpret_cast<float*>(buffers[0]);
    std::byte* const narrow = buffers[1];
    const std::string name(name_of(type));
    if (narrows)
        return {"cast/float_to_" + name, bytes,
                [=] { cast_from_float(type, narrow, floats, count, nullptr); }};
    return {"cast/" + name + "_to_float", bytes,
            [=] { cast_to_float(type, floats, narrow, count, nullptr); }};
}

std::vector<Work> all_work(const Buffers& buffers) {
    constexpr int default_waves = 4;
    std::vector<Work> all = {memory_copy(buffers)};
    for (int waves : {1, default_waves, 16}) {
        all.push_back(own_copy(buffers, waves));
        for (std::size_t sources : {2, 8})
            all.push_back(reduction(buffers, DataType::float32, Op::sum, sources, waves));
    }
    for (DataType type : all_data_types())
        for (std::size_t sources : {2, 3, 4, 8})
            if (type != DataType::float32 || sources == 3 || sources == 4)
                all.push_back(reduction(buffers, type, Op::sum, sources, default_waves));
    for (Op op : {Op::prod, Op::max, Op::avg})
        for (DataType type : {DataType::float32, DataType::half, DataType::int8})
            all.push_back(reduction(buffers, type, op, 2, default_waves));
    for (DataType type :
         {DataType::half, DataType::bfloat16, DataType::fp8_e4m3, DataType::fp8_e5m2}) {
        all.push_back(cast(buffers, type, true));
        all.push_back(cast(buffers, type, false));
    }
    return all;
}

void run() {
    const Buffers buffers;
    Stopwatch watch;
    const double copy_speed = speed_of(memory_copy(buffers), watch);
    benchmark::AddCustomContext("copy bandwidth, GB/s", std::to_string(copy_speed / 1e9));
    benchmark::AddCustomContext("bytes a buffer", std::to_string(buffers.bytes()));
    for (const Work& work : all_work(buffers))
        benchmark::RegisterBenchmark(work.name.c_str(), time_work, work, copy_speed,
                                     std::ref(watch))
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    benchmark::RunSpecifiedBenchmarks();
}

}  // namespace
}  // namespace tutti::device

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
    if (const std::string reason = tutti::device::why_no_gpu(); !reason.empty()) {
        std::printf("cuda_kernels_bench: %s\n", reason.c_str());
        return 0;
    }
    tutti::device::run();
    benchmark::Shutdown();
}
