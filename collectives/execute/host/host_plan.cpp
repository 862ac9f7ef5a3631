// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>

#include "collectives/execute/host/lane.hpp"
#include "collectives/execute/plans.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

class HostPlan final : public Plan {
public:
    HostPlan(Progress& progress, MessageTransport* transport, const PlanRequest& request,
             SharedPlanMemory& memory)
        : Plan(progress, request),
          buffers_{.me = world().rank(),
                   .spec = {request.call.collective, world().size(), request.call.root},
                   .chunks = request.schedule.chunks(),
                   .in_place = request.buffers.in_place,
                   .device = request.buffers.device,
                   .registered = request.registered,
                   .mapped = request.method == TransferMethod::mapped
                                 ? std::make_unique<MappedBuffers>(world())
                                 : nullptr},
          begins_at_once_(transport != nullptr && transport->follows_queue()),
          stores_(request.stores) {
        const auto make_lanes = [&] {
            std::vector<std::unique_ptr<Lane>> lanes;
            for (RankProgram& program : compile(request, buffers_.me))
                lanes.push_back(
                    std::make_unique<Lane>(buffers_, stores_, request, std::move(program)));
            return lanes;
        };
        // A rank may lack memory (a root has messages of all ranks), or its device may not support
        // its part. Ranks that need only memory agree on that when it is provided.
        const bool needs_only_memory =
            transport == nullptr || request.method == TransferMethod::lines;
        lanes_ =
            needs_only_memory ? make_lanes() : make_on_all_ranks(world(), request.what, make_lanes);
        int number = request.number;
        for (const auto& lane : lanes_) lane->connect(world(), transport, number++, memory);
    }

    std::optional<std::string> left_over() const override {
        for (const auto& lane : lanes_)
            if (lane->endpoint() != nullptr)
                if (const auto left = lane->endpoint()->left_over()) return left;
        return std::nullopt;
    }

private:
    // Works in the caller's buffers, or in copies that peers reach.
    void adapt() override {
        if (buffers_.mapped != nullptr)
            in_heap_ = CallerMemory(buffers_.mapped->reachable(caller().given()));
        buffers_.memory = buffers_.mapped != nullptr ? &in_heap_ : &caller();
        const bool divides = call().op == Op::avg && reduces(call().collective);
        divide_ = divides ? find_divide(call().type) : nullptr;
        for (const auto& lane : lanes_) lane->bind(call(), divides);
    }

    void begin() override {
        if (buffers_.mapped != nullptr) {
            if (buffers_.mapped->is_outdated()) adapt();
            buffers_.mapped->copy_in();
        }
        for (const auto& lane : lanes_) lane->begin();
        if (buffers_.device == nullptr) return;
        settled_.reset();
        if (begins_at_once_) advance();
    }

    bool advance() override {
        bool all_are_done = true;
        std::size_t steps = 0;
        for (const auto& lane : lanes_) {
            const bool is_done = lane->advance([this] { step_is_ready(); },
                                               [this](int step) { step_has_ended(step); });
            all_are_done = is_done && all_are_done;
            steps += lane->steps_done();
        }
        at_ = steps;
        if (!all_are_done) return false;
        if (buffers_.device != nullptr) return device_is_done(*lanes_.front()->queue());
        finish();
        return true;
    }

    void finish() {
        if (stores_.adapts()) {
            std::int64_t moving_ns = 0;
            for (const auto& lane : lanes_) moving_ns += lane->moving_ns();
            stores_.record(moving_ns, total_bytes(call(), world().size()));
        }
        const std::span<std::byte> output = buffers_.memory->given().output;
        if (divide_ != nullptr && !output.empty())
            divide_(output.data(), elements_in(output.size(), call().type), world().size());
        if (buffers_.mapped != nullptr &&
            !has_result_before(call(), caller().given(), world().rank()))
            buffers_.mapped->copy_out();
    }

    // Called after all lanes have enqueued their last moves.
    bool device_is_done(DeviceQueue& queue) {
        if (!settled_) {
            for (const auto& lane : lanes_)
                if (lane->queue() != &queue) queue.follow(*lane->queue());
            const std::span<std::byte> output = caller().given().output;
            if (divide_ != nullptr && !output.empty())
                queue.divide(call().type, output.data(), elements_in(output.size(), call().type),
                             world().size());
            settled_ = queue.mark();
        }
        if (queue.is_past(*settled_)) return true;
        for (const auto& lane : lanes_) lane->endpoint()->throw_if_failed();
        return false;
    }

    void sleep() override {
        if (lanes_.size() > 1 || !lanes_.front()->sleep(longest_sleep_ns)) sched_yield();
    }

    // Reports the first unfinished lane.
    ProgressState progress_state() const override {
        for (const auto& lane : lanes_)
            if (!lane->is_done())
                return {.step = lane->step(),
                        .waits_for = lane->waits_for(),
                        .way = lane->way(),
                        .is_behind = lane->has_peer_to_begin()};
        for (const auto& lane : lanes_)
            if (lane->endpoint() != nullptr)
                if (auto outstanding = lane->endpoint()->outstanding())
                    return {.step = outstanding->step, .one_of = std::move(outstanding->peers)};
        return {};
    }

    void give_up() override {
        for (const auto& lane : lanes_)
            if (lane->endpoint() != nullptr) lane->endpoint()->give_up();
    }

    HostBuffers buffers_;
    CallerMemory in_heap_;  // if the plan works in mapped heaps
    bool begins_at_once_;
    StoreChoice stores_;  // for final results
    std::vector<std::unique_ptr<Lane>> lanes_;
    DivideKernel divide_ = nullptr;
    std::optional<DeviceQueue::Mark> settled_;  // on a device: mark after its last work
};

}  // namespace

std::unique_ptr<Plan> host_plan(Progress& progress, MessageTransport* transport,
                                const PlanRequest& request, SharedPlanMemory& memory) {
    return std::make_unique<HostPlan>(progress, transport, request, memory);
}

std::unique_ptr<Plan> host_plan(Progress& progress, MessageTransport* transport,
                                const PlanRequest& request) {
    SharedPlanMemory memory(progress.world());
    auto plan = host_plan(progress, transport, request, memory);
    memory.provide(request.what);
    return plan;
}

}  // namespace tutti
