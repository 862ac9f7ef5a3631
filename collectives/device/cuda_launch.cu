// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/cuda_launch.cuh"

namespace tutti {

using device::check;

PlanKernel plan_kernel(DataType type, Op op) {
    for (const auto find : {plan_kernel_in<SmallIntegers>, plan_kernel_in<LargeIntegers>,
                            plan_kernel_in<Floats>, plan_kernel_in<Fp8s>})
        if (const PlanKernel kernel = find(type, op)) return kernel;
    throw Error("no kernel for type " + std::string(name_of(type)) + "; use -d float");
}

CudaLaunch::CudaLaunch(int ordinal, cudaStream_t stream, const Work& work,
                       std::shared_ptr<const DeviceProgram*> of_rank, std::uint64_t* stop)
    : ordinal_(ordinal),
      stream_(stream),
      kernel_(plan_kernel(work.type, work.op)),
      blocks_(static_cast<unsigned>(work.of_rank.size()) * work.blocks),
      runs_(work.runs),
      of_rank_(std::move(of_rank)),
      arguments_{of_rank_.get(), work.blocks, stop, 0} {
    check(cudaSetDevice(ordinal_), "cudaSetDevice");
    check(cudaEventCreate(&began_), "cudaEventCreate");
    check(cudaEventCreate(&ended_), "cudaEventCreate");
}

CudaLaunch::~CudaLaunch() {
    cudaSetDevice(ordinal_);
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    cudaEventDestroy(began_);
    cudaEventDestroy(ended_);
}

void CudaLaunch::launch_once(cudaStream_t stream) {
    void* arguments[] = {&arguments_};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel_), dim3(blocks_),
                                      dim3(threads_of_plan), arguments, 0, stream),
          "cudaLaunchCooperativeKernel");
}

// Captures on a separate stream, because other plans may be started on the device's stream at the
// same time.
void CudaLaunch::capture() {
    cudaStream_t drawing = nullptr;
    cudaGraph_t drawn = nullptr;
    check(cudaStreamCreateWithFlags(&drawing, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamBeginCapture(drawing, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    for (unsigned run = 0; run < runs_; ++run) launch_once(drawing);
    check(cudaStreamEndCapture(drawing, &drawn), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&graph_, drawn, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(drawn), "cudaGraphDestroy");
    check(cudaStreamDestroy(drawing), "cudaStreamDestroy");
}

// A graph keeps the timeout of its first start.
void CudaLaunch::start(std::uint64_t timeout_ns) {
    check(cudaSetDevice(ordinal_), "cudaSetDevice");
    arguments_.timeout_ns = timeout_ns;
    if (runs_ > 1 && graph_ == nullptr) capture();
    check(cudaEventRecord(began_, stream_), "cudaEventRecord");
    if (graph_ != nullptr)
        check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
    else
        launch_once(stream_);
    check(cudaEventRecord(ended_, stream_), "cudaEventRecord");
}

bool CudaLaunch::is_over() {
    const cudaError_t answer = cudaEventQuery(ended_);
    if (answer == cudaErrorNotReady) return false;
    check(answer, "a kernel that runs plans");
    return true;
}

std::optional<std::int64_t> CudaLaunch::device_ns() {
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, began_, ended_) != cudaSuccess) {
        cudaGetLastError();  // nothing has run yet
        return std::nullopt;
    }
    return static_cast<std::int64_t>(milliseconds * 1e6F / static_cast<float>(runs_));
}

}  // namespace tutti
