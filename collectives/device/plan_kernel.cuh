// SPDX-License-Identifier: Apache-2.0
// The kernel that runs plans: the step loop on a GPU's blocks, for one type and operation each.
#pragma once
#include "collectives/device/block_instructions.cuh"
#include "collectives/device/step_loop.hpp"
#include "kernels/cuda/combine.cuh"
#include "kernels/cuda/element_groups.hpp"

namespace tutti {

inline constexpr int threads_of_plan = 256;

/// Arguments of all blocks of a launch. The same for all runs, so that a graph can replay them.
struct LaunchArguments {
    const DeviceProgram* const* of_rank;  ///< the programs of a rank's blocks
    unsigned blocks;                      ///< per rank
    std::uint64_t* stop;                  ///< a word in host memory, see DeviceStop
    std::uint64_t timeout_ns;
};

/// Shared by all types.
__device__ __attribute__((noinline)) inline void copy_apart(std::byte* const* outs,
                                                            int how_many_outs,
                                                            const std::byte* source,
                                                            std::int64_t bytes) {
    device::copy(outs, how_many_outs, source, bytes, threadIdx.x, blockDim.x);
}

/// A block is many threads. Ranks may share a GPU or not: the code does not depend on it.
template <class Element, Op op>
class CudaMachine {
public:
    __device__ explicit CudaMachine(const LaunchArguments& launch) : launch_(launch) {}

    __device__ std::uint32_t thread() const { return threadIdx.x; }
    __device__ std::uint32_t threads() const { return blockDim.x; }
    __device__ bool all(bool mine) const { return __syncthreads_and(mine); }

    __device__ std::uint64_t acquire(const std::uint64_t& counter) const {
        return device::load_acquire(counter);
    }
    __device__ void release(std::uint64_t& counter, std::uint64_t value) const {
        device::store_release(counter, value);
    }
    __device__ std::uint64_t arrive(std::uint64_t& counter) const {
        return device::add_one(counter);
    }

    __device__ void store_line(DeviceLine& line, DeviceLine value) const {
        device::store_line(line, value);
    }
    __device__ DeviceLine load_line(const DeviceLine& line) const {
        return device::load_line(line);
    }

    __device__ std::uint64_t now_ns() const { return device::now_ns(); }
    __device__ std::uint64_t timeout_ns() const { return launch_.timeout_ns; }
    __device__ void pause() const { device::pause(); }
    __device__ bool has_stopped() const { return device::load_relaxed(*launch_.stop) != 0; }
    // The last block that stores wins; all of them have waited too long.
    __device__ void stop(std::uint64_t word) const { device::store_relaxed(*launch_.stop, word); }

    // Separate functions, because registers of the loop would otherwise be spilled in the passes.
    __device__ __attribute__((noinline)) static void combine(std::byte* const* outs,
                                                             std::uint32_t how_many_outs,
                                                             const std::byte* const* sources,
                                                             std::uint32_t how_many,
                                                             std::uint64_t bytes) {
        const auto outs_count = static_cast<int>(how_many_outs);
        if (how_many == 1)
            return copy_apart(outs, outs_count, sources[0], static_cast<std::int64_t>(bytes));
        device::combine<Element, op>({sources, static_cast<int>(how_many), outs, outs_count,
                                      static_cast<std::int64_t>(bytes / sizeof(Element))},
                                     threadIdx.x, blockDim.x);
    }
    __device__ __attribute__((noinline)) static void divide(std::byte* data, std::uint64_t bytes,
                                                            std::uint32_t divisor) {
        if constexpr (op == Op::sum)  // only that becomes a mean
            device::divide<Element>(data, static_cast<std::int64_t>(bytes / sizeof(Element)),
                                    static_cast<int>(divisor), threadIdx.x, blockDim.x);
    }

private:
    const LaunchArguments& launch_;
};

using PlanKernel = void (*)(LaunchArguments);

template <class Element, Op op>
__global__ void __launch_bounds__(threads_of_plan)
    run_plan(const __grid_constant__ LaunchArguments launch) {
    CudaMachine<Element, op> machine(launch);
    const DeviceProgram* of_blocks = launch.of_rank[blockIdx.x / launch.blocks];
    StepLoop(machine, of_blocks[blockIdx.x % launch.blocks]).run();
}

/// Combined has the same bits in sums and products as Element.
template <class Element, class Combined = Element>
PlanKernel plan_kernel_of(Op op) {
    constexpr PlanKernel kernels[] = {
        // in the order of Op
        run_plan<Combined, Op::sum>, run_plan<Combined, Op::prod>, run_plan<Element, Op::min>,
        run_plan<Element, Op::max>, run_plan<Element, Op::sum>};  // avg: a sum that is divided at
                                                                  // the end, where the sign counts
    return kernels[static_cast<int>(op)];
}

/// Does nothing, to measure the cost of a launch.
void (*empty_kernel())();

/// Returns null for a type of another group.
template <class Group>
PlanKernel plan_kernel_in(DataType type, Op op);

}  // namespace tutti
