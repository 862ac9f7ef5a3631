// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/reduce_kernel.cuh"

namespace tutti::device {

struct CopyArguments {
    std::byte* outs[most_outs];
    int how_many_outs;
    const std::byte* source;
    std::int64_t bytes;
};

__global__ void __launch_bounds__(block_threads, 4)
    copy_kernel(const __grid_constant__ CopyArguments a) {
    copy<Access::streamed>(a.outs, a.how_many_outs, a.source, a.bytes, grid_thread(),
                           grid_threads());
}

namespace {

ReduceFunction find_kernel(DataType type, Op op) {
    for (const auto find :
         {kernel_in<SmallIntegers>, kernel_in<LargeIntegers>, kernel_in<Floats>, kernel_in<Fp8s>})
        if (const ReduceFunction kernel = find(type, op)) return kernel;
    throw Error("no kernel for the GPU has this data type");
}

void check_sizes(std::size_t outs, std::size_t sources, int divisor) {
    if (outs < 1 || outs > most_outs || sources < 1 || sources > most_sources)
        throw Error("a kernel on the GPU takes 1 to " + std::to_string(most_sources) +
                    " sources and 1 to " + std::to_string(most_outs) + " outs");
    if (divisor < 1) throw Error("the divisor of an average must be at least 1");
}

}  // namespace

void reduce(DataType type, Op op, std::span<std::byte* const> outs,
            std::span<const std::byte* const> sources, std::int64_t count, Stream stream,
            int divisor, int waves) {
    check_sizes(outs.size(), sources.size(), divisor);
    const auto bytes = count * static_cast<std::int64_t>(size_of(type));
    if (sources.size() == 1 && op != Op::avg) return copy(outs, sources[0], bytes, stream, waves);
    ReduceArguments arguments{.how_many_sources = static_cast<int>(sources.size()),
                              .how_many_outs = static_cast<int>(outs.size()),
                              .count = count,
                              .divisor = divisor};
    std::ranges::copy(sources, arguments.sources);
    std::ranges::copy(outs, arguments.outs);
    launch(find_kernel(type, op), arguments, bytes, waves, stream);
}

void divide(DataType type, std::byte* data, std::int64_t count, int divisor, Stream stream) {
    const std::byte* const source = data;
    reduce(type, Op::avg, {&data, 1}, {&source, 1}, count, stream, divisor);
}

void copy(std::span<std::byte* const> outs, const std::byte* from, std::int64_t bytes,
          Stream stream, int waves) {
    check_sizes(outs.size(), 1, 1);
    CopyArguments arguments{
        .how_many_outs = static_cast<int>(outs.size()), .source = from, .bytes = bytes};
    std::ranges::copy(outs, arguments.outs);
    launch(copy_kernel, arguments, bytes, waves, stream);
}

std::string why_no_gpu() {
    int devices = 0;
    const cudaError_t answer = cudaGetDeviceCount(&devices);
    if (answer == cudaSuccess && devices > 0) return "";
    cudaGetLastError();
    return std::string("no GPU is present (") +
           (answer == cudaSuccess ? "CUDA finds none" : cudaGetErrorString(answer)) + ")";
}

}  // namespace tutti::device
