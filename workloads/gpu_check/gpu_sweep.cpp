// SPDX-License-Identifier: Apache-2.0
// A sweep without any library that the core does not need, for machines with a GPU and little else.
// Ranks are threads, every algorithm of a collective is checked and timed at every size, and each
// gives a line of JSON like `tutti bench --json`. If all libraries are available, use `tutti
// bench`.
//   gpu_sweep TRANSPORT COLLECTIVE RANKS FROM TO SECONDS
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/planner/planner.hpp"
#include "results/statistics/bandwidth.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

struct Asked {
    std::string transport;
    Collective collective = Collective::all_reduce;
    int ranks = 1;
    std::int64_t from = 0, to = 0;  // bytes
    double seconds = 0;             // for all points together
};

// This rank's buffers, one after the other, in memory that the transport's peers can reach: on the
// host, or on a GPU with a copy on the host.
class SweepMemory {
public:
    // Allocates for calls of up to `most` bytes. Collective.
    SweepMemory(Planner& planner, std::string_view transport, std::int64_t bytes,
                Collective collective)
        : reachable_(planner.registered_memory(transport,
                                               room(bytes, collective, planner.world().size()))) {
        if (reachable_->device() != nullptr) image_.resize(reachable_->mine().size());
    }

    const char* kind() const { return reachable_->device() != nullptr ? "device" : "registered"; }

    void lay_out(const Call& call, const World& world) {
        const std::size_t input = input_bytes(call, world.size(), world.rank());
        const std::size_t begin = (input + 4095) / 4096 * 4096;
        input_ = reachable_->mine().subspan(0, input);
        output_ = reachable_->mine().subspan(begin, output_bytes(call, world.size(), world.rank()));
    }

    CallBuffers buffers() const { return {.input = input_, .output = output_}; }
    const ReachableMemory* registered() const { return reachable_.get(); }

    void fill(const CheckCase& check, Rank me) {
        fill_input(check, me, here(input_));
        poison(here(output_));
        if (Accelerator* device = reachable_->device())
            for (const auto part : {input_, output_}) device->copy_in(part.data(), here(part));
    }

    std::int64_t wrong(const CheckCase& check, Rank me) {
        if (Accelerator* device = reachable_->device())
            device->copy_out(here(output_), output_.data());
        return count_wrong(check, me, here(output_));
    }

private:
    // Input and output are each at most the whole message, which has at least one element for every
    // rank.
    static std::size_t room(std::int64_t bytes, Collective collective, int ranks) {
        const Call one{.collective = collective, .count = 1};
        return 2 * static_cast<std::size_t>(std::max(bytes, total_bytes(one, ranks))) + 8192;
    }

    std::span<std::byte> here(std::span<std::byte> part) {
        if (reachable_->device() == nullptr) return part;
        return std::span(image_).subspan(
            static_cast<std::size_t>(part.data() - reachable_->mine().data()), part.size());
    }

    std::unique_ptr<ReachableMemory> reachable_;
    std::vector<std::byte> image_;
    std::span<std::byte> input_, output_;
};

struct Timed {
    std::int64_t least_ns = 0, middle_ns = 0, most_ns = 0;
    std::size_t calls = 0;
    std::int64_t wrong = 0;
};

class PointRun {
public:
    PointRun(Planner& planner, SweepMemory& memory, const Asked& asked, const Algorithm& algorithm,
             const Call& call)
        : world_(planner.world()), memory_(memory), call_(call) {
        memory.lay_out(call, world_);
        plan_ = planner.plan({&algorithm, {.transport = asked.transport}}, call, memory.buffers(),
                             memory.registered());
    }

    Timed run(double seconds) {
        Timed timed;
        timed.wrong = checked(1);
        std::vector<std::int64_t> times;
        const std::int64_t began = now_ns();
        constexpr std::size_t warm_up = 5, least_calls = 10, most_calls = 1000;
        for (std::size_t call = 0; call < warm_up + most_calls; ++call) {
            world_.barrier();
            const std::int64_t start = now_ns();
            plan_->run();
            const std::int64_t mine = now_ns() - start;
            std::int64_t slowest = 0;
            for (const std::int64_t ns : gather_all(world_, mine)) slowest = std::max(slowest, ns);
            if (call >= warm_up) times.push_back(slowest);
            const bool is_over = static_cast<double>(now_ns() - began) > seconds * 1e9;
            if (from_rank0(world_, is_over) && times.size() >= least_calls) break;
        }
        timed.wrong += checked(2);
        std::sort(times.begin(), times.end());
        timed.least_ns = times.front();
        timed.middle_ns = times[times.size() / 2];
        timed.most_ns = times.back();
        timed.calls = times.size();
        return timed;
    }

private:
    std::int64_t checked(std::uint64_t seed) {
        const CheckCase check = check_of(call_, world_.size(), seed);
        memory_.fill(check, world_.rank());
        world_.barrier();
        plan_->run();
        std::int64_t wrong = 0;
        for (const std::int64_t of_rank : gather_all(world_, memory_.wrong(check, world_.rank())))
            wrong += of_rank;
        return wrong;
    }

    World& world_;
    SweepMemory& memory_;
    Call call_;
    std::unique_ptr<Plan> plan_;
};

void print(const Asked& asked, const char* memory, const Algorithm& algorithm, const Call& call,
           const Timed& timed) {
    const Bytes bytes{total_bytes(call, asked.ranks)};
    const auto reached =
        bandwidth(call.collective, asked.ranks, bytes, static_cast<double>(timed.middle_ns));
    std::puts(
        fmt::format(R"({{"v":1,"kind":"point","key":{{"coll":"{}","impl":"tutti","algo":"{}",)"
                    R"("transport":"{}","dtype":"{}","op":"{}","count":{},"bytes":{},)"
                    R"("inplace":false,"buf":"{}","nranks":{},"ppn":{},"placement":"{}"}},)"
                    R"("t_ns":{{"min":{},"p50":{},"max":{}}},"n":{},"stop_reason":"max_time",)"
                    R"("algbw_GBps":{:.3f},"busbw_GBps":{:.3f},)"
                    R"("check":{{"state":"{}","n_wrong":{}}}}})",
                    name_of(call.collective), algorithm.name, asked.transport, name_of(call.type),
                    name_of(call.op), call.count, bytes.count, memory, asked.ranks, asked.ranks,
                    std::string_view(memory) == "device" ? "virtual ranks" : "", timed.least_ns,
                    timed.middle_ns, timed.most_ns, timed.calls, reached.algbw, reached.busbw,
                    timed.wrong == 0 ? "ok" : "fail", timed.wrong)
            .c_str());
    std::fflush(stdout);
}

// Returns the number of wrong elements at all points.
std::int64_t sweep(World& world, const Asked& asked) {
    Planner planner(world);
    if (const auto refusal = planner.refuses(asked.transport))
        throw Error(asked.transport + ": " + *refusal);
    SweepMemory memory(planner, asked.transport, asked.to, asked.collective);
    const Call one{.collective = asked.collective, .count = 1};
    std::vector<std::int64_t> sizes;
    for (std::int64_t bytes = asked.from; bytes <= asked.to; bytes *= 4) sizes.push_back(bytes);
    const auto algorithms = algorithms_of(asked.collective);
    const double share = asked.seconds / 2 / static_cast<double>(sizes.size() * algorithms.size());
    std::int64_t wrong = 0;
    for (const std::int64_t bytes : sizes)
        for (const Algorithm* algorithm : algorithms) {
            if (algorithm->refuses({.collective = asked.collective, .ranks = asked.ranks}))
                continue;
            Call call = one;
            call.count = std::max<std::int64_t>(bytes / total_bytes(one, asked.ranks), 1);
            const Timed timed = PointRun(planner, memory, asked, *algorithm, call).run(share);
            if (world.is_first()) print(asked, memory.kind(), *algorithm, call, timed);
            wrong += timed.wrong;
            world.barrier();
        }
    return wrong;
}

Asked asked_in(int count, char** words) {
    if (count != 7)
        throw Error("usage: gpu_sweep TRANSPORT COLLECTIVE RANKS FROM TO SECONDS (sizes in bytes)");
    const auto number = [&](int word) {
        char* end = nullptr;
        const long long value = std::strtoll(words[word], &end, 10);
        if (*end != '\0' || value < 1)
            throw Error(fmt::format("{} is not a number of 1 or more", words[word]));
        return static_cast<std::int64_t>(value);
    };
    return {words[1],  parse_collective(words[2]),    static_cast<int>(number(3)), number(4),
            number(5), static_cast<double>(number(6))};
}

}  // namespace
}  // namespace tutti

int main(int count, char** words) {
    using namespace tutti;
    try {
        const Asked asked = asked_in(count, words);
        std::atomic<std::int64_t> wrong = 0;
        run_as_threads(asked.ranks, 20, [&](World& world) { wrong = sweep(world, asked); });
        return static_cast<int>(wrong == 0 ? Exit::ok : Exit::wrong_result);
    } catch (const Error& error) {
        std::fprintf(stderr, "gpu_sweep: %s\n", error.what());
        return static_cast<int>(error.code());
    }
}
