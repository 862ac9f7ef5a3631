// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/device/memory_device.hpp"
#include "collectives/device/plan_kernel.cuh"
#include "kernels/cuda/launch.cuh"

namespace tutti {
namespace {

using device::check;

std::string describe(std::size_t bytes) {
    return to_string(Bytes{static_cast<std::int64_t>(bytes)});
}

int attribute(int ordinal, cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, ordinal), "cudaDeviceGetAttribute");
    return value;
}

cudaDeviceProp properties(int ordinal) {
    cudaDeviceProp all{};
    check(cudaGetDeviceProperties(&all, ordinal), "cudaGetDeviceProperties");
    return all;
}

// Selects a GPU for a scope.
class Chosen {
public:
    explicit Chosen(int ordinal) {
        cudaGetDevice(&before_);
        cudaSetDevice(ordinal);
    }
    ~Chosen() { cudaSetDevice(before_); }
    Chosen(const Chosen&) = delete;
    Chosen& operator=(const Chosen&) = delete;

private:
    int before_ = 0;
};

PlanKernel plan_kernel(DataType type, Op op) {
    for (const auto find : {plan_kernel_in<SmallIntegers>, plan_kernel_in<LargeIntegers>,
                            plan_kernel_in<Floats>, plan_kernel_in<Fp8s>})
        if (const PlanKernel kernel = find(type, op)) return kernel;
    throw Error("no kernel for type " + std::string(name_of(type)) + "; use -d float");
}

// Launches plans, alone or as a graph of several runs: all blocks at once, because they wait for
// each other.
class CudaLaunch final : public DeviceLaunch {
public:
    // `of_rank` lies on the device and must outlive this.
    CudaLaunch(int ordinal, cudaStream_t stream, const Work& work,
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
    ~CudaLaunch() override {
        cudaSetDevice(ordinal_);
        if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
        cudaEventDestroy(began_);
        cudaEventDestroy(ended_);
    }

    // A graph keeps the timeout of its first start.
    void start(std::uint64_t timeout_ns) override {
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

    bool is_over() override {
        const cudaError_t answer = cudaEventQuery(ended_);
        if (answer == cudaErrorNotReady) return false;
        check(answer, "a kernel that runs plans");
        return true;
    }

    std::optional<std::int64_t> device_ns() override {
        float milliseconds = 0;
        if (cudaEventElapsedTime(&milliseconds, began_, ended_) != cudaSuccess) {
            cudaGetLastError();  // nothing has run yet
            return std::nullopt;
        }
        return static_cast<std::int64_t>(milliseconds * 1e6F / static_cast<float>(runs_));
    }

private:
    void launch_once(cudaStream_t stream) {
        void* arguments[] = {&arguments_};
        check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel_), dim3(blocks_),
                                          dim3(threads_of_plan), arguments, 0, stream),
              "cudaLaunchCooperativeKernel");
    }

    // Captures on a separate stream, because other plans may be started on the device's stream at
    // the same time.
    void capture() {
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

    int ordinal_;
    cudaStream_t stream_;
    PlanKernel kernel_;
    unsigned blocks_, runs_;
    std::shared_ptr<const DeviceProgram*> of_rank_;
    LaunchArguments arguments_;
    cudaEvent_t began_ = nullptr, ended_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;  // several runs
};

class CudaDevice final : public Accelerator {
public:
    CudaDevice(int ordinal, const std::vector<int>& peers)
        : ordinal_(ordinal), multiprocessors_(attribute(ordinal, cudaDevAttrMultiProcessorCount)) {
        if (attribute(ordinal, cudaDevAttrCooperativeLaunch) == 0)
            throw Error("GPU " + std::to_string(ordinal) +
                        " has no cooperative launch, so its blocks cannot wait for each other; "
                        "use --transport shm");
        use();
        for (const int peer : peers) {
            if (peer == ordinal) continue;
            const cudaError_t answer = cudaDeviceEnablePeerAccess(peer, 0);
            if (answer == cudaErrorPeerAccessAlreadyEnabled)
                cudaGetLastError();
            else
                check(answer, "cudaDeviceEnablePeerAccess");
        }
        check(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking), "cudaStreamCreate");
        check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreate");
        check(cudaHostAlloc(&stop_, sizeof *stop_, cudaHostAllocMapped | cudaHostAllocPortable),
              "cudaHostAlloc");
        *stop_ = 0;
        launch_ns_ = time_of_a_launch();
    }

    ~CudaDevice() override {
        cudaSetDevice(ordinal_);
        cudaStreamDestroy(kernels_);
        cudaStreamDestroy(copies_);
        cudaFreeHost(stop_);
    }

    std::string name() const override {
        return "GPU " + std::to_string(ordinal_) + " (" + properties(ordinal_).name + ", " +
               std::to_string(multiprocessors_) + " multiprocessors; an empty launch takes " +
               std::to_string(launch_ns_) + " ns)";
    }

    std::byte* allocate(std::size_t bytes) override {
        use();
        std::size_t free = 0, all = 0;
        check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
        void* memory = nullptr;
        const cudaError_t answer =
            bytes > free ? cudaErrorMemoryAllocation : cudaMalloc(&memory, bytes);
        if (answer == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            throw Error("GPU " + std::to_string(ordinal_) + " has " + describe(free) +
                        " bytes free and " + describe(bytes) + " are needed; use smaller messages");
        }
        check(answer, "cudaMalloc");
        check(cudaMemsetAsync(memory, 0, bytes, copies_), "cudaMemsetAsync");
        check(cudaStreamSynchronize(copies_), "cudaStreamSynchronize");
        return static_cast<std::byte*>(memory);
    }
    // Called by the thread that was the last owner; its own GPU stays selected.
    void release(std::byte* memory) noexcept override {
        const Chosen here(ordinal_);
        cudaFree(memory);
    }

    void copy_in(std::byte* to, std::span<const std::byte> from) override {
        copy(to, from.data(), from.size(), cudaMemcpyHostToDevice);
    }
    void copy_out(std::span<std::byte> to, const std::byte* from) override {
        copy(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
    }

    DeviceKey key_of(std::byte* memory) override {
        use();
        cudaIpcMemHandle_t handle{};
        check(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
        DeviceKey key;
        static_assert(sizeof handle == sizeof key);
        std::memcpy(&key, &handle, sizeof key);
        return key;
    }
    std::byte* open(const DeviceKey& key) override {
        use();
        cudaIpcMemHandle_t handle{};
        std::memcpy(&handle, &key, sizeof key);
        void* memory = nullptr;
        check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
              "cudaIpcOpenMemHandle");
        return static_cast<std::byte*>(memory);
    }
    void close(std::byte* memory) noexcept override {
        const Chosen here(ordinal_);
        cudaIpcCloseMemHandle(memory);
    }

    MemoryDevice* for_messages() override { return for_messages_.get(); }

    // One block per multiprocessor: a second one would hide little more, because every thread has
    // several loads of 16 bytes in flight.
    unsigned most_blocks(int ranks) override {
        return static_cast<unsigned>(std::max(multiprocessors_ / ranks, 1));
    }
    std::size_t grain() const override { return std::size_t{16} << 10; }

    std::unique_ptr<DeviceLaunch> prepare(const Work& work) override {
        use();
        int resident = 0;
        const auto* kernel = reinterpret_cast<const void*>(plan_kernel(work.type, work.op));
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads_of_plan, 0),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        const std::size_t blocks = work.of_rank.size() * work.blocks;
        const auto most = static_cast<std::size_t>(resident * multiprocessors_);
        if (blocks > most)
            throw Error(std::to_string(work.of_rank.size()) + " ranks do not fit on GPU " +
                        std::to_string(ordinal_) + ", which runs " + std::to_string(most) +
                        " blocks at once; use fewer --ranks");
        const std::size_t bytes = work.of_rank.size() * sizeof(const DeviceProgram*);
        auto* memory = allocate(bytes);
        const std::shared_ptr<const DeviceProgram*> of_rank(
            reinterpret_cast<const DeviceProgram**>(memory),
            [this, memory](auto*) { release(memory); });
        copy_in(memory, std::as_bytes(std::span(work.of_rank)));
        std::uint64_t* stop = nullptr;
        check(cudaHostGetDevicePointer(&stop, stop_, 0), "cudaHostGetDevicePointer");
        return std::make_unique<CudaLaunch>(ordinal_, kernels_, work, of_rank, stop);
    }

    std::optional<DeviceStop> stopped() const override {
        return stop_in(std::atomic_ref(*stop_).load(std::memory_order_relaxed));
    }

private:
    void use() const { check(cudaSetDevice(ordinal_), "cudaSetDevice"); }

    void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
        if (bytes == 0) return;
        use();
        check(cudaMemcpyAsync(to, from, bytes, kind, copies_), "cudaMemcpyAsync");
        check(cudaStreamSynchronize(copies_), "cudaStreamSynchronize");
    }

    // Returns the time from launching an empty kernel until the host sees that it is over; the
    // minimum of several. The first one also loads the module.
    std::int64_t time_of_a_launch() {
        std::int64_t least = INT64_MAX;
        for (int i = 0; i < 20; ++i) {
            const std::int64_t began = now_ns();
            check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(empty_kernel()),
                                              dim3(static_cast<unsigned>(multiprocessors_)),
                                              dim3(threads_of_plan), nullptr, 0, kernels_),
                  "cudaLaunchCooperativeKernel");
            check(cudaStreamSynchronize(kernels_), "cudaStreamSynchronize");
            least = std::min(least, now_ns() - began);
        }
        return least;
    }

    int ordinal_;
    int multiprocessors_;
    std::unique_ptr<MemoryDevice> for_messages_ = gpu_memory(ordinal_);
    cudaStream_t kernels_ = nullptr, copies_ = nullptr;
    std::uint64_t* stop_ = nullptr;  // on the host
    std::int64_t launch_ns_ = 0;
};

}  // namespace

bool cuda_reaches(int from, int to) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
    return can != 0;
}

std::shared_ptr<Accelerator> cuda_device(int ordinal, const std::vector<int>& peers) {
    const auto count = static_cast<int>(gpus().size());
    if (ordinal < 0 || ordinal >= count)
        throw Error("there is no GPU " + std::to_string(ordinal) + "; this machine has 0.." +
                    std::to_string(count - 1));
    return std::make_shared<CudaDevice>(ordinal, peers);
}

}  // namespace tutti
