// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/host/bound_program.hpp"

#include <algorithm>
#include <utility>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/transport/endpoint.hpp"

namespace tutti {
namespace {

// Stand for the caller's buffers in operands, so that they can be replaced.
constexpr PeerMemory callers_input, callers_output;

}  // namespace

// The call, its layout at this rank, and where the program's memory lies that peers reach.
struct BoundProgram::Binding {
    const Call& call;
    Layout layout;
    ProgramMemory memory;
    bool divides;
};

BoundProgram::BoundProgram(const HostBuffers& buffers, const PlanRequest& request,
                           const RankProgram& program)
    : buffers_(buffers),
      program_(program),
      most_(buffers.spec, buffers.chunks, as_size(request.call.count) * size_of(request.call.type)),
      queue_(buffers.device == nullptr ? nullptr : buffers.device->queue()),
      moves_(request.call.type, request.call.op, queue_.get()),
      ends_(program_.steps.size()),
      begins_(as_size(buffers.spec.ranks())),
      own_places_(program_, most_, request.sends_only_messages() ? most_.reachable(program_) : 0),
      own_(allocate(own_places_.end())) {
    memory_.assign(begins_.size(), {.data = own_.get()});
    make_room();
    expect_room_for_sources(request.call.type);
}

std::shared_ptr<std::byte> BoundProgram::allocate(std::size_t bytes) const {
    if (bytes == 0) return nullptr;
    if (buffers_.device != nullptr) return buffers_.device->allocate(bytes);
    return {new std::byte[bytes], std::default_delete<std::byte[]>()};
}

// Makes room for the largest call in all lists, and counts the sources of moves.
void BoundProgram::make_room() {
    std::size_t moves = 0, outs = 0, sources = 0, posts = 0, most_outs = 1;
    const auto count = [&](const std::vector<ChunkMove>& some) {
        moves += some.size();
        for (const ChunkMove& move : some) {
            outs += move.targets.size();
            sources += move.sources.size();
            most_outs = std::max(most_outs, move.targets.size());
            most_sources_ = std::max(most_sources_, move.sources.size());
        }
    };
    count(program_.prologue);
    for (const ProgramStep& step : program_.steps) {
        count(step.moves);
        posts += step.receives.size() + step.sends.size();
        for (const ChunkMessage& message : step.sends) {
            const std::size_t packed = message.is_in_one_piece() ? 0 : message.parts.size();
            moves += packed;
            outs += packed;
            sources += packed;
        }
    }
    count(program_.settling_early);
    count(program_.settling_late);
    moves_.reserve(moves, outs, sources);
    posts_.reserve(posts);
    outs_.reserve(most_outs);
    sources_.reserve(most_sources_);
}

void BoundProgram::expect_room_for_sources(DataType type) const {
    if (queue_ == nullptr || most_sources_ <= queue_->most_sources(type)) return;
    throw Error("the GPU adds up at most " + std::to_string(queue_->most_sources(type)) +
                " shares of " + std::string(name_of(type)) + " at once, but this call has " +
                std::to_string(most_sources_) + "; use --algo ring");
}

EndpointNeeds BoundProgram::needs(std::size_t most_bytes_of_message) const {
    EndpointNeeds needs{.queue = queue_.get()};
    for (const ProgramStep& step : program_.steps) {
        std::size_t posts = 0;
        for (const auto* messages : {&step.receives, &step.sends})
            for (const ChunkMessage& message : *messages) {
                const std::size_t bytes = most_.message(message),
                                  pieces = divide_up(bytes, most_bytes_of_message);
                posts += pieces;
                needs.most_to_one = std::max(needs.most_to_one, pieces);
                needs.most_bytes =
                    std::max(needs.most_bytes, std::min(most_bytes_of_message, bytes));
                needs.peers.push_back(message.peer);
            }
        needs.most_posts = std::max(needs.most_posts, posts);
    }
    std::ranges::sort(needs.peers);
    needs.peers.erase(std::ranges::unique(needs.peers).begin(), needs.peers.end());
    return needs;
}

void BoundProgram::bind(const Call& call, bool divides) {
    if (bound_ && call.lengths == nullptr && *bound_ == call) return replace_buffers();
    bound_.reset();
    if (call.lengths == nullptr) bound_ = call;
    expect_room_for_sources(call.type);
    const Layout layout(call, buffers_.spec, buffers_.me, buffers_.chunks);
    const std::size_t all = as_size(buffers_.spec.ranks()) * as_size(call.count);
    const Binding binding{call, layout, {program_, layout, all * size_of(call.type)}, divides};
    moves_.restart(call.type, call.op);
    posts_.clear();
    own_places_.place_transit(program_, layout);
    prologue_end_ = add_moves(program_.prologue, binding);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        const ProgramStep& step = program_.steps[i];
        if (step.has_messages()) add_messages(step, ends_[i], binding);
        ends_[i].moves = add_moves(step.moves, binding);
    }
    early_end_ = add_moves(program_.settling_early, binding);
    add_moves(program_.settling_late, binding);
}

std::byte* BoundProgram::begin_of(bool is_input) const {
    return buffers_.memory.memory(is_input ? Place::In::input : Place::In::output).data();
}

void BoundProgram::replace_buffers() {
    for (const bool is_input : {true, false}) {
        const PeerMemory& buffer = is_input ? callers_input : callers_output;
        std::byte* const begin = begin_of(is_input);
        moves_.place_peer(buffer, begin);
        for (Post& post : posts_)
            if (post.memory.peer == &buffer) post.memory.address = begin + post.memory.offset;
    }
}

// Adds the step's messages, and the moves that pack those that are not in one piece.
void BoundProgram::add_messages(const ProgramStep& step, StepEnds& ends, const Binding& binding) {
    const auto add = [&](Rank peer, const Moves::Operand& memory, std::size_t bytes) {
        if (bytes > 0) posts_.push_back({peer, memory, bytes});
    };
    const auto add_in_place = [&](const ChunkMessage& message) {
        add(message.peer, operand({std::nullopt, message.parts.front().place}, binding),
            bytes_of(message, binding.layout));
    };
    own_places_.place_inbox(step, binding.layout);
    for (const ChunkMessage& message : step.receives) add_in_place(message);
    ends.receives = static_cast<std::uint32_t>(posts_.size());
    moves_.close();
    std::size_t packed = own_places_.outbox();
    for (const ChunkMessage& message : step.sends) {
        if (message.is_in_one_piece()) {
            add_in_place(message);
            continue;
        }
        const std::size_t begin = packed;
        for (const ChunkMessage::Part& part : message.parts) {
            const Moves::Operand out{own_.get() + packed},
                source = operand({std::nullopt, part.place}, binding);
            const std::size_t bytes = binding.layout.bytes_of(part.chunk);
            moves_.add({&out, 1}, {&source, 1}, bytes);
            packed += bytes;
        }
        add(message.peer, {own_.get() + begin}, packed - begin);
    }
    ends.sends = static_cast<std::uint32_t>(posts_.size());
    ends.packing = moves_.size();
}

std::uint32_t BoundProgram::add_moves(const std::vector<ChunkMove>& moves, const Binding& binding) {
    moves_.close();
    for (const ChunkMove& move : moves) {
        const std::size_t bytes = binding.layout.bytes_of(move.chunk);
        if (bytes == 0) continue;
        outs_.clear();
        sources_.clear();
        for (const MovePlace& target : move.targets) outs_.push_back(operand(target, binding));
        for (const MovePlace& source : move.sources) sources_.push_back(operand(source, binding));
        moves_.add(outs_, sources_, bytes, move.is_final && !binding.divides);
    }
    return moves_.size();
}

Moves::Operand BoundProgram::operand(const MovePlace& end, const Binding& binding) const {
    const auto [in, number] = end.place;
    if (in == ChunkPlace::In::transit || in == ChunkPlace::In::inbox)
        return {own_.get() + own_places_.offset_of(end.place)};
    const Rank owner = end.peer.value_or(buffers_.me);
    const Layout of_owner = binding.layout.of(owner);
    const PlanMemory& memory = at(memory_, owner);
    if (!end.place.is_of_caller())
        return {memory.data + binding.memory.offset_of(end.place, of_owner)};
    const bool is_input = in == ChunkPlace::In::input;
    const std::size_t offset = of_owner.offset_of(
        side_of(end.place, buffers_.in_place, Positions(buffers_.spec, owner)), number);
    if (!end.peer)
        return {begin_of(is_input) + offset, is_input ? &callers_input : &callers_output, offset};
    const auto& buffer = is_input ? memory.buffers->input : memory.buffers->output;
    if (!buffers_.are_addressed()) return {nullptr, &buffer.memory, offset};  // by the kernel
    // Until the peer's buffers have been looked up, any address will do.
    const Begins& begins = at(begins_, owner);
    std::byte* const begin = is_input ? begins.input : begins.output;
    return {(begin != nullptr ? begin : memory.data) + offset, &buffer.memory, offset};
}

void BoundProgram::look_up_buffers(Rank peer) {
    const PublishedBuffers& published = *at(memory_, peer).buffers;
    const auto begin_of = [&](const PublishedBuffers::Buffer& buffer) {
        return buffers_.registered != nullptr
                   ? buffers_.registered->of(peer).data() + buffer.registered
                   : buffers_.mapped->address_of(buffer);
    };
    Begins& begins = at(begins_, peer);
    begins = {begin_of(published.input), begin_of(published.output)};
    moves_.place_peer(published.input.memory, begins.input);
    moves_.place_peer(published.output.memory, begins.output);
}

}  // namespace tutti
