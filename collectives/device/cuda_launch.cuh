// SPDX-License-Identifier: Apache-2.0
// Launches of plans on a GPU, alone or as a graph of several runs.
#pragma once
#include <cuda_runtime_api.h>

#include "collectives/device/accelerator.hpp"
#include "collectives/device/plan_kernel.cuh"
#include "kernels/cuda/check.cuh"

namespace tutti {

PlanKernel plan_kernel(DataType type, Op op);

/// Launches all blocks at once, or fails: they wait for each other.
class CudaLaunch final : public DeviceLaunch {
public:
    /// `of_rank` lies on the device and must outlive this.
    CudaLaunch(int ordinal, cudaStream_t stream, const Work& work,
               std::shared_ptr<const DeviceProgram*> of_rank, std::uint64_t* stop);
    ~CudaLaunch() override;

    void start(std::uint64_t timeout_ns) override;
    bool is_over() override;
    std::optional<std::int64_t> device_ns() override;

private:
    void launch_once(cudaStream_t stream);
    void capture();

    int ordinal_;
    cudaStream_t stream_;
    PlanKernel kernel_;
    unsigned blocks_, runs_;
    std::shared_ptr<const DeviceProgram*> of_rank_;
    LaunchArguments arguments_;
    cudaEvent_t began_ = nullptr, ended_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;  // several runs
};

}  // namespace tutti
