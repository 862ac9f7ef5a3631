// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/messages/message_program.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace tutti {
namespace {

// Stand for the caller's buffers in the operands of moves, so that Moves can replace them.
constexpr PeerMemory callers_input, callers_output;

const PeerMemory* buffer_of_caller(Place::In in) {
    if (in == Place::In::input) return &callers_input;
    return in == Place::In::output ? &callers_output : nullptr;
}

}  // namespace

MessageProgram::MessageProgram(const PlanRequest& request, MessageDraft draft,
                               std::size_t most_bytes)
    : device(request.buffers.device),
      queue(device != nullptr ? device->queue() : nullptr),
      moves(request.call.type, request.call.op, queue.get()),
      draft_(std::move(draft)),
      most_bytes_(most_bytes),
      bytes_(draft_.sizes.entries.size()),
      in_transit_(memory(draft_.plan)),
      inbox_(memory(draft_.inbox)),
      outbox_(memory(draft_.outbox)) {
    begins_[as_size(Place::In::plan)] = in_transit_.get();
    begins_[as_size(Place::In::inbox)] = inbox_.get();
    begins_[as_size(Place::In::outbox)] = outbox_.get();
    make_room();
    expect_room_for_sources(request.call.type);
}

std::shared_ptr<std::byte> MessageProgram::memory(std::size_t bytes) const {
    if (device != nullptr) return device->allocate(bytes);
    return {new std::byte[bytes], std::default_delete<std::byte[]>()};
}

std::size_t MessageProgram::pieces_of(const DraftMessage& message) const {
    return divide_up(draft_.most(message), most_bytes_);
}

// Counts what the largest call needs in all lists, and of its endpoint.
void MessageProgram::make_room() {
    needs.queue = queue.get();
    std::size_t receives_in_all = 0, sends_in_all = 0, moves_in_all = 0, sources_in_all = 0;
    const auto count_posts = [&](const std::vector<DraftMessage>& messages) {
        std::size_t posts = 0;
        for (const DraftMessage& message : messages) {
            const std::size_t pieces = pieces_of(message);
            posts += pieces;
            needs.most_to_one = std::max(needs.most_to_one, pieces);
            needs.most_bytes =
                std::max(needs.most_bytes, std::min(most_bytes_, draft_.most(message)));
            needs.peers.push_back(message.peer);
        }
        return posts;
    };
    const auto count_moves = [&](const std::vector<DraftMove>& drafts) {
        moves_in_all += drafts.size();
        for (const DraftMove& move : drafts) {
            sources_in_all += move.sources.size();
            most_sources_ = std::max(most_sources_, move.sources.size());
        }
    };
    for (const DraftStep& step : draft_.steps) {
        const std::size_t to_receive = count_posts(step.receives),
                          to_send = count_posts(step.sends);
        needs.most_posts = std::max(needs.most_posts, to_receive + to_send);
        receives_in_all += to_receive;
        sends_in_all += to_send;
        count_moves(step.packing);
        count_moves(step.moves);
    }
    count_moves(draft_.settling);
    std::ranges::sort(needs.peers);
    needs.peers.erase(std::ranges::unique(needs.peers).begin(), needs.peers.end());
    steps.reserve(draft_.steps.size());
    receives.reserve(receives_in_all);
    sends.reserve(sends_in_all);
    moves.reserve(moves_in_all, moves_in_all, sources_in_all);
    sources_.reserve(most_sources_);
}

void MessageProgram::expect_room_for_sources(DataType type) const {
    if (queue == nullptr || most_sources_ <= queue->most_sources(type)) return;
    throw Error("the GPU adds up at most " + std::to_string(queue->most_sources(type)) +
                " shares of " + std::string(name_of(type)) + " at once, but this call has " +
                std::to_string(most_sources_) + "; use --algo ring");
}

void MessageProgram::bind(const Call& call, const CallBuffers& buffers) {
    // The input is only read, unless it holds the output, too.
    begins_[as_size(Place::In::input)] = const_cast<std::byte*>(buffers.input.data());
    begins_[as_size(Place::In::output)] = buffers.output.data();
    if (call == call_ && call.lengths == nullptr) return replace_buffers();
    expect_room_for_sources(call.type);
    draft_.sizes.evaluate(call, bytes_);
    call_ = call;
    make_steps(call);
}

void MessageProgram::replace_buffers() {
    for (auto* posts : {&receives, &sends})
        for (Post& post : *posts) post.memory = {address(post.place), post.memory.size()};
    for (const auto in : {Place::In::input, Place::In::output})
        moves.place_peer(*buffer_of_caller(in), begins_[as_size(in)]);
}

void MessageProgram::make_steps(const Call& call) {
    steps.clear();
    receives.clear();
    sends.clear();
    moves.restart(call.type, call.op);
    for (const DraftStep& drafted : draft_.steps) {
        const MessageStep step{.number = drafted.number,
                               .packing = add_moves(drafted.packing),
                               .receives = add_posts(receives, drafted.receives),
                               .sends = add_posts(sends, drafted.sends),
                               .moves = add_moves(drafted.moves)};
        const bool is_empty = step.packing.empty() && step.receives.empty() && step.sends.empty() &&
                              step.moves.empty();
        if (!is_empty) steps.push_back(step);
    }
    settling = add_moves(draft_.settling);
}

Moves::Operand MessageProgram::operand(DraftPlace draft) const {
    const Place place = place_of(draft);
    return {address(place), buffer_of_caller(place.in), place.offset};
}

Entries MessageProgram::add_moves(const std::vector<DraftMove>& drafts) {
    moves.close();
    Entries entries{moves.size(), 0};
    for (const DraftMove& draft : drafts) {
        if (bytes_of(draft.bytes) == 0) continue;
        sources_.clear();
        for (const DraftPlace source : draft.sources) sources_.push_back(operand(source));
        const Moves::Operand out = operand(draft.out);
        moves.add({&out, 1}, sources_, bytes_of(draft.bytes));
    }
    entries.end = moves.size();
    return entries;
}

Entries MessageProgram::add_posts(std::vector<Post>& posts,
                                  const std::vector<DraftMessage>& drafts) {
    Entries entries{static_cast<std::uint32_t>(posts.size()), 0};
    for (const DraftMessage& draft : drafts) {
        const std::size_t bytes = bytes_of(draft.bytes);
        const Place begin = place_of(draft.place);
        for (std::size_t done = 0; done < bytes; done += most_bytes_) {
            const Place place = begin.after(done);
            posts.push_back(
                {draft.peer, place, {address(place), std::min(most_bytes_, bytes - done)}});
        }
    }
    entries.end = static_cast<std::uint32_t>(posts.size());
    return entries;
}

std::vector<MessageProgram> compile_messages(const PlanRequest& request, const World& world,
                                             std::size_t most_bytes) {
    std::vector<MessageProgram> programs;
    for (MessageDraft& draft : draft_messages(request, world.rank()))
        programs.emplace_back(request, std::move(draft), most_bytes);
    return programs;
}

}  // namespace tutti
