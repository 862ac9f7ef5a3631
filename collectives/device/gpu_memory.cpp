// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/device/memory_device.hpp"
#include "kernels/cuda/kernels.hpp"

namespace tutti {
namespace {

Error no_room(const char* where, std::size_t bytes, cudaError_t error) {
    cudaGetLastError();  // clears the error, so that the next call does not report it
    return Error(fmt::format("cannot allocate {} bytes {} (CUDA: {}); use smaller messages", bytes,
                             where, cudaGetErrorString(error)));
}

// Events mark positions in a stream; those that have passed are reused.
class Marks {
public:
    Marks() = default;
    Marks(const Marks&) = delete;
    Marks& operator=(const Marks&) = delete;
    ~Marks() {
        for (const Open& mark : open_) cudaEventDestroy(mark.event);
        for (const cudaEvent_t event : free_) cudaEventDestroy(event);
    }

    DeviceQueue::Mark make(cudaStream_t stream) {
        if (free_.empty())
            check_cuda(cudaEventCreateWithFlags(&free_.emplace_back(), cudaEventDisableTiming));
        const cudaEvent_t event = free_.back();
        free_.pop_back();
        open_.push_back({++made_, event});
        check_cuda(cudaEventRecord(event, stream));
        return made_;
    }

    bool is_past(DeviceQueue::Mark mark) {
        while (past_ < mark) {
            const Open& next = open_.front();
            const cudaError_t state = cudaEventQuery(next.event);
            if (state == cudaErrorNotReady) return false;
            check_cuda(state);
            past_ = next.mark;
            free_.push_back(next.event);
            open_.pop_front();
        }
        return true;
    }

private:
    struct Open {
        DeviceQueue::Mark mark;
        cudaEvent_t event;
    };
    std::deque<Open> open_;  // oldest first
    std::vector<cudaEvent_t> free_;
    DeviceQueue::Mark made_ = 0, past_ = 0;
};

// CUDA keeps the current GPU per thread, and accepts work only for its streams.
void choose(int number) { check_cuda(cudaSetDevice(number)); }

class Stream final : public DeviceQueue {
public:
    explicit Stream(int number) : number_(number) {
        choose(number);
        check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        check_cuda(cudaEventCreateWithFlags(&follows_, cudaEventDisableTiming));
    }
    ~Stream() override {
        cudaEventDestroy(follows_);
        cudaStreamDestroy(stream_);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
    }

    void combine(DataType type, Op op, std::span<std::byte* const> outs,
                 std::span<const std::byte* const> sources, std::size_t elements) override {
        choose(number_);
        const Op sum = op == Op::avg ? Op::sum : op;
        const auto count = static_cast<std::int64_t>(elements);
        // A launch takes at most this many sources; the others are combined with the intermediate
        // result, in order, which gives the same bits as one pass: see most_sources().
        auto now = sources.first(std::min<std::size_t>(sources.size(), device::most_sources));
        auto later = sources.subspan(now.size());
        device::reduce(type, sum, outs, now, count, stream_);
        while (!later.empty()) {
            const auto next = std::min<std::size_t>(later.size(), device::most_sources - 1);
            std::array<const std::byte*, device::most_sources> with{outs[0]};
            std::copy_n(later.begin(), next, with.begin() + 1);
            device::reduce(type, sum, outs, {with.data(), next + 1}, count, stream_);
            later = later.subspan(next);
        }
    }

    // Sums in wider numbers must be rounded once, so they need a single launch.
    std::size_t most_sources(DataType type) const override {
        const bool is_widened = type == DataType::half || type == DataType::bfloat16 ||
                                type == DataType::fp8_e4m3 || type == DataType::fp8_e5m2;
        return is_widened ? device::most_sources : SIZE_MAX;
    }

    void divide(DataType type, std::byte* values, std::size_t elements, int ranks) override {
        choose(number_);
        device::divide(type, values, static_cast<std::int64_t>(elements), ranks, stream_);
    }

    // An event may be recorded again: work that waits for it still waits for the earlier record.
    void follow(DeviceQueue& other) override {
        choose(number_);
        check_cuda(cudaEventRecord(follows_, static_cast<cudaStream_t>(other.handle())));
        check_cuda(cudaStreamWaitEvent(stream_, follows_));
    }

    Mark mark() override {
        choose(number_);
        return marks_.make(stream_);
    }
    bool is_past(Mark mark) override { return marks_.is_past(mark); }
    void* handle() const override { return stream_; }

private:
    int number_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t follows_ = nullptr;
    Marks marks_;
};

// Page-locked host memory that all GPUs of this process copy from and to. CUDA refuses to register
// memory twice, and several ranks of a process may share it: registrations are counted.
class RegisteredPages {
public:
    explicit RegisteredPages(std::span<std::byte> memory) : memory_(memory) {
        const std::lock_guard lock(mutex());
        if (owners()[memory.data()]++ > 0) return;
        const auto error = cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable);
        if (error == cudaSuccess) return;
        owners().erase(memory.data());
        throw no_room("of pinned memory", memory.size(), error);
    }
    ~RegisteredPages() {
        const std::lock_guard lock(mutex());
        if (--owners()[memory_.data()] > 0) return;
        owners().erase(memory_.data());
        cudaHostUnregister(memory_.data());
    }
    RegisteredPages(const RegisteredPages&) = delete;
    RegisteredPages& operator=(const RegisteredPages&) = delete;

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::map<std::byte*, int>& owners() {
        static std::map<std::byte*, int> of_memory;
        return of_memory;
    }

    std::span<std::byte> memory_;
};

class Gpu final : public MemoryDevice {
public:
    explicit Gpu(int number) : number_(number) { choose(number_); }

    std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
        choose(number_);
        void* memory = nullptr;
        if (const auto error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
            error != cudaSuccess)
            throw no_room("on the GPU", bytes, error);
        return {static_cast<std::byte*>(memory), [](std::byte* there) { cudaFree(there); }};
    }

    // Ordinary pages registered with CUDA, so that libraries may still let the kernel copy them.
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        choose(number_);
        bytes = std::max<std::size_t>(bytes, 1);
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED) throw no_room("on the host", bytes, cudaErrorMemoryAllocation);
        const std::shared_ptr<std::byte> pages(static_cast<std::byte*>(memory),
                                               [bytes](std::byte* here) { munmap(here, bytes); });
        // Unregisters the pages before they are unmapped.
        return {pages.get(), [pages, known = register_memory({pages.get(), bytes})](
                                 std::byte*) mutable { known.reset(); }};
    }

    std::shared_ptr<void> register_memory(std::span<std::byte> memory) override {
        if (memory.empty()) return nullptr;
        choose(number_);
        return std::make_shared<RegisteredPages>(memory);
    }

    std::unique_ptr<DeviceQueue> queue() override {
        choose(number_);
        return std::make_unique<Stream>(number_);
    }

private:
    int number_;
};

}  // namespace

std::unique_ptr<MemoryDevice> gpu_memory(int number) { return std::make_unique<Gpu>(number); }

}  // namespace tutti
