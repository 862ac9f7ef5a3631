// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/message_plan.hpp"

#include <algorithm>

#include "collectives/execute/message_program.hpp"
#include "kernels/divide.hpp"

namespace tutti {
namespace {

std::vector<Rank> peers_of(const MessageProgram& program) {
    std::vector<Rank> peers;
    for (const auto* posts : {&program.receives, &program.sends})
        for (const Post& post : *posts) peers.push_back(post.peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
}

class MessagePlan final : public Plan {
public:
    MessagePlan(Progress& progress, MessageTransport& transport, const PlanRequest& request)
        : Plan(progress, request.what, request.schedule.steps()),
          program_(compile_messages(request, progress.world(), transport.most_bytes())),
          output_(request.output),
          wire_(transport.connect({.plan = request.number,
                                   .most_posts = program_.most_posts,
                                   .most_to_one = program_.most_to_one,
                                   .most_bytes = program_.most_bytes,
                                   .peers = peers_of(program_)})) {
        if (request.call.op == Op::avg && reduces(request.call.collective) && !output_.empty()) {
            divide_ = find_divide(request.call.type);
            elements_ = output_.size() / size_of(request.call.type);
        }
    }

    std::optional<std::string> left_over() const override { return wire_->left_over(); }

private:
    void begin() override { posted_ = false; }

    bool advance() override {
        for (; at_ < program_.steps.size(); ++at_, posted_ = false) {
            const MessageStep& step = program_.steps[at_];
            if (!posted_) post(step);
            if (!wire_->all_done()) return false;
            program_.moves.run(step.moves.first, step.moves.end);
        }
        program_.moves.run(program_.settling.first, program_.settling.end);
        if (divide_ != nullptr) divide_(output_.data(), elements_, world().size());
        return true;
    }

    void post(const MessageStep& step) {
        program_.moves.run(step.packing.first, step.packing.end);
        for (auto i = step.receives.first; i < step.receives.end; ++i)
            wire_->post_receive(step.number, program_.receives[i].peer,
                                program_.receives[i].memory);
        for (auto i = step.sends.first; i < step.sends.end; ++i)
            wire_->post_send(step.number, program_.sends[i].peer, program_.sends[i].memory);
        posted_ = true;
    }

    Stand stand() const override {
        const int step = at_ < program_.steps.size() ? program_.steps[at_].number : 0;
        return {step, wire_->waits_for()};
    }

    MessageProgram program_;
    std::span<std::byte> output_;
    std::unique_ptr<Wire> wire_;
    DivideKernel divide_ = nullptr;
    std::size_t elements_ = 0;
    bool posted_ = false;
};

}  // namespace

std::unique_ptr<Plan> message_plan(Progress& progress, MessageTransport& transport,
                                   const PlanRequest& request) {
    return std::make_unique<MessagePlan>(progress, transport, request);
}

}  // namespace tutti
