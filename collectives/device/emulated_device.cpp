// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <cstring>
#include <new>

#include "base/error.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/device/block_threads.hpp"
#include "collectives/device/emulated_block.hpp"
#include "collectives/device/memory_device.hpp"
#include "collectives/device/step_loop.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

constexpr std::align_val_t page{4096};

// The common data of the blocks of one launch.
struct Kernels {
    ReduceKernel reduce;
    DivideKernel divide;
    std::size_t element_size;
};

// A block is one thread.
class HostMachine {
public:
    HostMachine(const Kernels& kernels, std::atomic<std::uint64_t>& stop, std::uint64_t timeout_ns)
        : kernels_(kernels), stop_(stop), timeout_ns_(timeout_ns) {}

    std::uint32_t thread() const { return 0; }
    std::uint32_t threads() const { return 1; }
    bool all(bool mine) const { return mine; }

    std::uint64_t acquire(const std::uint64_t& counter) const {
        return device::load_acquire(counter);
    }
    void release(std::uint64_t& counter, std::uint64_t value) const {
        device::store_release(counter, value);
    }
    std::uint64_t arrive(std::uint64_t& counter) const { return device::add_one(counter); }
    void store_line(DeviceLine& line, DeviceLine value) const { device::store_line(line, value); }
    DeviceLine load_line(const DeviceLine& line) const { return device::load_line(line); }

    std::uint64_t now_ns() const { return device::now_ns(); }
    std::uint64_t timeout_ns() const { return timeout_ns_; }
    void pause() const { device::pause(); }
    bool has_stopped() const { return stop_.load() != 0; }
    void stop(std::uint64_t word) const {
        std::uint64_t nobody = 0;
        stop_.compare_exchange_strong(nobody, word);
    }

    void combine(std::byte* const* outs, std::size_t how_many_outs, const std::byte* const* sources,
                 std::size_t how_many, std::uint64_t bytes) const {
        kernels_.reduce(outs, how_many_outs, sources, how_many, bytes / kernels_.element_size);
    }
    void divide(std::byte* data, std::uint64_t bytes, std::uint32_t divisor) const {
        kernels_.divide(data, bytes / kernels_.element_size, divisor);
    }

private:
    const Kernels& kernels_;
    std::atomic<std::uint64_t>& stop_;
    std::uint64_t timeout_ns_;
};

class EmulatedLaunch final : public DeviceLaunch {
public:
    EmulatedLaunch(BlockThreads& threads, std::atomic<std::uint64_t>& stop, const Work& work,
                   std::optional<int> stopped_rank)
        : threads_(threads),
          runs_(work.runs),
          kernels_{find_reduce(work.type, work.op), find_divide(work.type), size_of(work.type)} {
        for (const DeviceProgram* of_blocks : work.of_rank)
            for (unsigned block = 0; block < work.blocks; ++block) {
                const DeviceProgram& program = of_blocks[block];
                ++blocks_;
                if (program.rank == stopped_rank) continue;
                tasks_.push_back([this, &program, &stop] {
                    HostMachine machine(kernels_, stop, timeout_ns_);
                    StepLoop(machine, program).run();
                    end_block();
                });
            }
    }

    ~EmulatedLaunch() override { EmulatedLaunch::settle(); }

    void start(std::uint64_t timeout_ns) override {
        timeout_ns_ = timeout_ns;
        runs_left_ = runs_;
        left_ = blocks_;  // before the next line: see settle
        is_running_ = true;
        threads_.start(tasks_);
    }
    bool is_over() override { return !is_running_.load(); }
    // Blocks that gave up still access this; those of a stopped rank never started.
    void settle() override {
        while (is_running_.load() && left_.load() > blocks_ - tasks_.size()) sched_yield();
    }

private:
    // The next run begins when all blocks of the previous one have ended, as with kernels in a
    // stream.
    void end_block() {
        if (left_.fetch_sub(1) != 1) return;
        if (--runs_left_ == 0) {
            is_running_ = false;
            return;
        }
        left_ = blocks_;
        threads_.start(tasks_);
    }

    BlockThreads& threads_;
    unsigned runs_;
    unsigned runs_left_ = 0;  // accessed only by the last block of a run
    Kernels kernels_;
    std::vector<BlockThreads::Block> tasks_;
    std::size_t blocks_ = 0;
    std::atomic<std::size_t> left_ = 0;
    std::atomic<bool> is_running_ = false;
    std::uint64_t timeout_ns_ = 0;
};

class EmulatedQueue final : public DeviceQueue {
public:
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }
    void combine(DataType type, Op op, std::span<std::byte* const> outs,
                 std::span<const std::byte* const> sources, std::size_t elements) override {
        find_reduce(type, op)(outs.data(), outs.size(), sources.data(), sources.size(), elements);
    }
    void divide(DataType type, std::byte* values, std::size_t elements, int ranks) override {
        find_divide(type)(values, elements, ranks);
    }
    void follow(DeviceQueue&) override {}
    Mark mark() override { return 0; }
    bool is_past(Mark) override { return true; }
    void* handle() const override { return nullptr; }
};

// The memory of an emulated device is host memory. Its queue executes work at once, and all host
// memory counts as mapped. Several threads may use it.
class EmulatedMemory final : public MemoryDevice {
public:
    std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
        auto* memory = static_cast<std::byte*>(::operator new(bytes, page, std::nothrow));
        if (memory == nullptr)
            throw Error("no memory for an emulated device; use smaller messages");
        return {memory, [](std::byte* there) { ::operator delete(there, page); }};
    }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override { return allocate(bytes); }
    std::shared_ptr<void> register_memory(std::span<std::byte>) override { return nullptr; }
    std::unique_ptr<DeviceQueue> queue() override { return std::make_unique<EmulatedQueue>(); }
};

class EmulatedDevice final : public Accelerator {
public:
    explicit EmulatedDevice(std::optional<int> stopped_rank) : stopped_rank_(stopped_rank) {}

    std::string name() const override { return "threads of this host"; }

    std::byte* allocate(std::size_t bytes) override {
        auto* memory = static_cast<std::byte*>(::operator new(bytes, page, std::nothrow));
        if (memory == nullptr)
            throw Error("no memory for an emulated device; use smaller messages");
        std::memset(memory, 0, bytes);
        return memory;
    }
    void release(std::byte* memory) noexcept override { ::operator delete(memory, page); }
    void copy_in(std::byte* to, std::span<const std::byte> from) override {
        if (!from.empty()) std::memcpy(to, from.data(), from.size());
    }
    void copy_out(std::span<std::byte> to, const std::byte* from) override {
        if (!to.empty()) std::memcpy(to.data(), from, to.size());
    }

    DeviceKey key_of(std::byte*) override { throw no_processes(); }
    std::byte* open(const DeviceKey&) override { throw no_processes(); }
    void close(std::byte*) noexcept override {}

    MemoryDevice* for_messages() override { return &for_messages_; }

    // More blocks would test nothing new, and each is a thread.
    unsigned most_blocks(int) override { return 4; }
    std::size_t grain() const override { return 256; }

    std::unique_ptr<DeviceLaunch> prepare(const Work& work) override {
        return std::make_unique<EmulatedLaunch>(threads_, stop_, work, stopped_rank_);
    }

    std::optional<DeviceStop> stopped() const override { return stop_in(stop_.load()); }

private:
    static Error no_processes() {
        return Error("processes cannot share an emulated device; use --ranks N without mpirun");
    }

    EmulatedMemory for_messages_;
    std::optional<int> stopped_rank_;
    std::atomic<std::uint64_t> stop_ = 0;
    BlockThreads threads_;
};

}  // namespace

std::shared_ptr<Accelerator> emulated_device(std::optional<int> stopped_rank) {
    return std::make_shared<EmulatedDevice>(stopped_rank);
}

}  // namespace tutti
