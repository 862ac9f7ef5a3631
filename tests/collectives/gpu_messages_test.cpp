// SPDX-License-Identifier: Apache-2.0
// Messages between the memory of a real GPU: staged, or by NCCL. One GPU is enough.
#include <gtest/gtest.h>

#include "collectives/device/gpus.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

MemoryDevice& gpu_of(World& world) {
    return world.attribute<MemoryDevice>(
        [&] { return std::shared_ptr<MemoryDevice>(gpu_memory(gpu_number(world))); });
}

// GPU memory, its image in pinned memory, and a queue between them.
class Image {
public:
    Image(MemoryDevice& gpu, std::size_t bytes)
        : bytes_(bytes),
          there_(gpu.allocate(bytes)),
          here_(gpu.pinned(bytes)),
          queue_(gpu.queue()) {}

    std::span<std::byte> there() const { return {there_.get(), bytes_}; }
    std::span<std::byte> here() const { return {here_.get(), bytes_}; }
    void push() { copy(there_.get(), here_.get()); }
    void pull() { copy(here_.get(), there_.get()); }
    DeviceQueue& queue() { return *queue_; }
    void settle() {
        const auto mark = queue_->mark();
        while (!queue_->is_past(mark)) continue;
    }

private:
    void copy(std::byte* to, const std::byte* from) {
        queue_->copy(to, from, bytes_);
        settle();
    }

    std::size_t bytes_;
    std::shared_ptr<std::byte> there_, here_;
    std::unique_ptr<DeviceQueue> queue_;
};

class OnAGpu : public testing::Test {
protected:
    void SetUp() override {
        if (const auto missing = gpus_missing()) GTEST_SKIP() << *missing;
    }
};

using Maker = std::function<std::unique_ptr<Operation>(World&, const Call&, const CallBuffers&)>;

// Returns the wrong elements of two runs. `make` may refuse by returning null.
std::int64_t wrong_elements(World& world, const Call& call, bool in_place, const Maker& make) {
    const int ranks = world.size();
    const Rank me = world.rank();
    const std::size_t input = input_bytes(call, ranks, me), output = output_bytes(call, ranks, me);
    const auto at = in_place ? in_place_offsets(call, ranks, me)
                             : InPlace{.input = 0, .output = (input + 255) / 256 * 256};
    MemoryDevice& gpu = gpu_of(world);
    Image image(gpu, std::max(at.input + input, at.output + output));
    const auto operation = make(world, call,
                                {.input = image.there().subspan(at.input, input),
                                 .output = image.there().subspan(at.output, output),
                                 .in_place = in_place,
                                 .device = &gpu});
    std::int64_t wrong = 0;
    for (std::uint64_t run = 0; operation && run < 2; ++run) {
        const CheckCase check = check_of(call, ranks, run);
        poison(image.here().subspan(at.output, output));
        fill_input(check, me, image.here().subspan(at.input, input));
        image.push();
        operation->run();
        image.pull();
        wrong += count_wrong(check, me, image.here().subspan(at.output, output));
    }
    world.barrier();
    return wrong;
}

TEST_F(OnAGpu, AQueueCopiesCombinesDividesAndReportsItsEnd) {
    const auto world = world_of_one();
    MemoryDevice& gpu = gpu_of(*world);
    constexpr std::size_t elements = 1001;
    Image one(gpu, elements * sizeof(float)), other(gpu, elements * sizeof(float));
    auto* const values = reinterpret_cast<float*>(one.here().data());
    auto* const others = reinterpret_cast<float*>(other.here().data());
    for (std::size_t i = 0; i < elements; ++i) {
        values[i] = static_cast<float>(i);
        others[i] = 3 * static_cast<float>(i);
    }
    one.push();
    other.push();
    std::byte* const out = one.there().data();
    const std::byte* const sources[] = {one.there().data(), other.there().data()};
    one.queue().follow(other.queue());
    one.queue().combine(DataType::float32, Op::avg, {&out, 1}, sources, elements);
    one.queue().divide(DataType::float32, out, elements, 2);
    one.settle();
    one.pull();
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(values[i], 2 * static_cast<float>(i));
}

// Over shm each of the threads registers the same memory with the GPU.
TEST_F(OnAGpu, StagedPlansOfSeveralRanksAreRight) {
    for (const char* transport : {"loopback", "shm"})
        for (const int ranks : {1, 2, 3})
            run_as_threads(ranks, 20, [&](World& world) {
                Planner planner(world);
                for (const Algorithm& algorithm : catalog())
                    for (const std::int64_t count : {1, 5000, 1'500'000}) {
                        if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks}))
                            continue;
                        if (count > 5000 && algorithm.name != "ring") continue;
                        const Call call{algorithm.collective, DataType::float32, Op::sum, Rank{0},
                                        count};
                        const auto plan = [&](World&, const Call& what,
                                              const CallBuffers& buffers) {
                            return planner.plan({&algorithm, {.transport = std::string(transport)}},
                                                what, buffers);
                        };
                        EXPECT_EQ(wrong_elements(world, call, false, plan), 0)
                            << name_of(algorithm.collective) << " " << algorithm.name << " over "
                            << transport;
                    }
            });
}

TEST_F(OnAGpu, MemoryIsKnownUntilItsLastOwnerIsGone) {
    const auto world = world_of_one();
    MemoryDevice& gpu = gpu_of(*world);
    constexpr std::size_t bytes = 1 << 20;
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free);
    for (int round = 0; round < 2; ++round) {
        auto one = gpu.register_memory({memory.get(), bytes});
        const auto other = gpu.register_memory({memory.get(), bytes});
        one.reset();
        const auto there = gpu.allocate(bytes);
        const auto queue = gpu.queue();
        queue->copy(there.get(), memory.get(), bytes);
        const auto mark = queue->mark();
        while (!queue->is_past(mark)) continue;
    }
}

TEST_F(OnAGpu, NcclsOwnCollectivesOfOneRankAreRight) {
    if (const auto missing = nccl_missing()) GTEST_SKIP() << *missing;
    const auto world = world_of_one();
    const Baseline& nccl = find_baseline("nccl");
    const Maker make = [&](World& ranks, const Call& call, const CallBuffers& buffers) {
        const LibraryCall what{call, "", buffers.in_place, memory_of(buffers)};
        return nccl.refuses(ranks, what) ? nullptr : nccl.make(ranks, what, buffers);
    };
    for (const Collective collective : all_collectives())
        for (const DataType type : all_data_types())
            for (const Op op : all_ops())
                for (const bool in_place : {false, true})
                    EXPECT_EQ(wrong_elements(*world, {collective, type, op, Rank{0}, 1000},
                                             in_place, make),
                              0)
                        << name_of(collective) << " " << name_of(type) << " " << name_of(op);
}

TEST_F(OnAGpu, PlansOverNcclOfOneRankAreRight) {
    if (const auto missing = nccl_missing()) GTEST_SKIP() << *missing;
    const auto world = world_of_one();
    Planner planner(*world);
    for (const Algorithm& algorithm : catalog()) {
        if (algorithm.refuses({.collective = algorithm.collective, .ranks = 1})) continue;
        const Maker make = [&](World&, const Call& call, const CallBuffers& buffers) {
            return planner.plan({&algorithm, {.transport = "nccl"}}, call, buffers);
        };
        EXPECT_EQ(
            wrong_elements(*world, {algorithm.collective, DataType::half, Op::sum, Rank{0}, 777},
                           false, make),
            0)
            << algorithm.name;
    }
}

TEST_F(OnAGpu, NcclRefusesTwoRanksOnOneGpuInItsOwnWords) {
    if (const auto missing = nccl_missing()) GTEST_SKIP() << *missing;
    if (gpus().size() > 1) GTEST_SKIP() << "there are several GPUs here";
    run_as_threads(2, 20, [](World& world) {
        const auto refusal = nccl_refuses(world);
        ASSERT_TRUE(refusal);
        EXPECT_NE(refusal->find("Duplicate GPU"), std::string::npos);
    });
}

}  // namespace

// Refusals without a GPU.
TEST(WithoutAGpu, CudaAndNcclSayWhy) {
    if (!gpus_missing()) GTEST_SKIP() << "there is a GPU here";
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world);
        const auto no_library = find_baseline("nccl").missing();
        const auto refusal = find_baseline("nccl").refuses(world, {.call = {.count = 1}});
        EXPECT_EQ(refusal, no_library ? no_library : gpus_missing());
        EXPECT_EQ(planner.refuses("nccl"), refusal);
        EXPECT_EQ(planner.refuses("cuda"), gpus_missing());
        EXPECT_THROW(gpu_of(world), Error);
    });
}

TEST(WithoutAGpu, WhatCudaSaysIsOneLine) {
    if (!gpus_missing()) GTEST_SKIP() << "there is a GPU here";
    EXPECT_EQ(gpus_missing()->find('\n'), std::string::npos);
    EXPECT_TRUE(gpus().empty());
    EXPECT_EQ(cuda_not_built().has_value(), cuda_runtime_version() == "none");
}

}  // namespace tutti
