// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collectives/execute/messages/message_program.hpp"
#include "collectives/execute/plans.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

// Executes the steps of its chunks, at its own pace.
class Lane {
public:
    Lane(MessageTransport& transport, MessageProgram program, int number)
        : program_(std::move(program)) {
        EndpointNeeds needs = program_.needs;
        needs.plan = number;
        endpoint_ = transport.connect(needs);
    }

    std::optional<std::string> left_over() const { return endpoint_->left_over(); }
    void bind(const Call& call, const CallBuffers& buffers) { program_.bind(call, buffers); }

    void begin() {
        at_ = 0;
        posted_ = false;
    }

    // Returns the number of steps done since begin().
    std::size_t at() const { return at_; }

    // Advances as far as possible without waiting; returns true at the end. Calls `step_is_ready`
    // when the messages of a step have arrived, `step_has_ended` with its number when its moves are
    // done.
    bool advance(const auto& step_is_ready, const auto& step_has_ended) {
        if (is_done()) return true;
        for (; at_ < program_.steps.size(); ++at_, posted_ = false) {
            const MessageStep& step = program_.steps[at_];
            if (!posted_) post(step);
            if (!endpoint_->all_done()) return false;
            step_is_ready();
            program_.moves.run(step.moves.first, step.moves.end);
            step_has_ended(step.number);
        }
        program_.moves.run(program_.settling.first, program_.settling.end);
        at_ = program_.steps.size() + 1;
        return true;
    }

    bool is_done() const { return at_ > program_.steps.size(); }

    // Returns the queue with the device's pending work after the last step.
    DeviceQueue* queue() { return program_.queue.get(); }

    int step() const { return at_ < program_.steps.size() ? program_.steps[at_].number : 0; }
    std::optional<Rank> waits_for() const { return endpoint_->waits_for(); }
    Endpoint& endpoint() const { return *endpoint_; }

private:
    void post(const MessageStep& step) {
        program_.moves.run(step.packing.first, step.packing.end);
        for (auto i = step.receives.first; i < step.receives.end; ++i)
            endpoint_->post_receive(step.number, program_.receives[i].peer,
                                    program_.receives[i].memory);
        for (auto i = step.sends.first; i < step.sends.end; ++i)
            endpoint_->post_send(step.number, program_.sends[i].peer, program_.sends[i].memory);
        posted_ = true;
    }

    MessageProgram program_;
    std::unique_ptr<Endpoint> endpoint_;
    std::size_t at_ = 0;
    bool posted_ = false;
};

class MessagePlan final : public Plan {
public:
    MessagePlan(Progress& progress, MessageTransport& transport, const PlanRequest& request)
        : Plan(progress, request), begins_at_once_(transport.follows_queue()) {
        int number = request.number;
        for (auto& program : programs_of(request, transport.most_bytes()))
            lanes_.emplace_back(transport, std::move(program), number++);
    }

    std::optional<std::string> left_over() const override {
        for (const Lane& lane : lanes_)
            if (const auto left = lane.left_over()) return left;
        return std::nullopt;
    }

private:
    // A rank may lack memory (a root has messages of all ranks), or its device may not support its
    // part.
    std::vector<MessageProgram> programs_of(const PlanRequest& request, std::size_t most_bytes) {
        return make_on_all_ranks(world(), request.what,
                                 [&] { return compile_messages(request, world(), most_bytes); });
    }

    void adapt() override {
        for (Lane& lane : lanes_) lane.bind(call(), caller().given());
        const std::span<std::byte> output = caller().given().output;
        const bool divides = call().op == Op::avg && reduces(call().collective) && !output.empty();
        divide_ = divides ? find_divide(call().type) : nullptr;
        elements_ = output.size() / size_of(call().type);
    }

    void begin() override {
        for (Lane& lane : lanes_) lane.begin();
        settling_.reset();
        if (begins_at_once_) advance();
    }

    bool advance() override {
        bool all_are_done = true;
        at_ = 0;
        for (Lane& lane : lanes_) {
            all_are_done =
                lane.advance([&] { step_is_ready(); }, [&](int step) { step_has_ended(step); }) &&
                all_are_done;
            at_ += lane.at();
        }
        if (all_are_done && !lanes_.empty() && lanes_.front().queue() != nullptr)
            return device_is_done(*lanes_.front().queue());
        if (all_are_done && divide_ != nullptr)
            divide_(caller().given().output.data(), elements_, world().size());
        return all_are_done;
    }

    // Called after all lanes have enqueued their last moves.
    bool device_is_done(DeviceQueue& queue) {
        if (!settling_) {
            for (Lane& lane : lanes_)
                if (lane.queue() != &queue) queue.follow(*lane.queue());
            if (divide_ != nullptr)
                queue.divide(call().type, caller().given().output.data(), elements_,
                             world().size());
            settling_ = queue.mark();
        }
        if (queue.is_past(*settling_)) return true;
        for (Lane& lane : lanes_) lane.endpoint().throw_if_failed();
        return false;
    }

    // Reports the first unfinished lane.
    ProgressState progress_state() const override {
        for (const Lane& lane : lanes_)
            if (!lane.is_done()) return {lane.step(), lane.waits_for()};
        for (const Lane& lane : lanes_)
            if (auto outstanding = lane.endpoint().outstanding())
                return {.step = outstanding->step, .one_of = std::move(outstanding->peers)};
        return {};
    }

    void give_up() override {
        for (Lane& lane : lanes_) lane.endpoint().give_up();
    }

    std::vector<Lane> lanes_;
    bool begins_at_once_;
    std::optional<DeviceQueue::Mark> settling_;  // on a device: mark after its last work
    DivideKernel divide_ = nullptr;
    std::size_t elements_ = 0;
};

}  // namespace

std::unique_ptr<Plan> message_plan(Progress& progress, MessageTransport& transport,
                                   const PlanRequest& request) {
    return std::make_unique<MessagePlan>(progress, transport, request);
}

}  // namespace tutti
