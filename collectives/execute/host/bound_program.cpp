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

// The call and its layout at this rank.
struct BoundProgram::Binding {
    const Call& call;
    Layout layout;
    bool divides;
};

BoundProgram::BoundProgram(const HostBuffers& buffers, const PlanRequest& request,
                           const RankProgram& program)
    : buffers_(buffers),
      program_(program),
      most_(request),
      reachable_(program_, most_),
      queue_(buffers.device == nullptr ? nullptr : buffers.device->queue()),
      moves_(request.call.type, request.call.op, queue_.get()),
      ends_(program_.steps.size()),
      begins_(as_size(buffers.spec.ranks())),
      own_places_(program_, most_, request.sends_only_messages() ? reachable_.end() : 0),
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
    if (rescale(call, divides)) return replace_buffers();
    bound_.reset();
    if (call.lengths == nullptr) bound_ = call;
    divides_ = divides;
    expect_room_for_sources(call.type);
    const Layout layout(call, buffers_.spec, buffers_.me, buffers_.chunks);
    const Binding binding{call, layout, divides};
    at(begins_, buffers_.me) = callers_buffers();
    moves_.restart(call.type, call.op, has_block_for_chunk());
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

// Returns false if the call needs other moves than the last one. Those of a call without elements
// are missing.
bool BoundProgram::rescale(const Call& call, bool divides) {
    if (!bound_ || call.lengths != nullptr) return false;
    if (*bound_ == call) return true;
    if (!has_block_for_chunk() || divides != divides_ || bound_->count == 0 || call.count == 0)
        return false;
    if (call.type != bound_->type) expect_room_for_sources(call.type);
    const std::size_t old_block = bytes_of_block(*bound_), block = bytes_of_block(call);
    bound_ = call;
    moves_.rescale(call.type, call.op, old_block, block);
    for (Post& post : posts_) {
        const std::size_t growth = post.memory.blocks * (block - old_block);
        post.memory.address += static_cast<std::ptrdiff_t>(growth);
        post.memory.offset += growth;
        post.bytes = post.blocks * block;
    }
    return true;
}

BoundProgram::Begins BoundProgram::callers_buffers() const {
    return {buffers_.memory->memory(Place::In::input).data(),
            buffers_.memory->memory(Place::In::output).data()};
}

void BoundProgram::replace_buffers() {
    const auto replace = [&](const PeerMemory& buffer, std::byte*& begin, std::byte* now) {
        if (now == begin) return;
        begin = now;
        moves_.place_peer(buffer, begin);
        for (Post& post : posts_)
            if (post.memory.peer == &buffer) post.memory.address = begin + post.memory.offset;
    };
    const Begins now = callers_buffers();
    Begins& mine = at(begins_, buffers_.me);
    replace(callers_input, mine.input, now.input);
    replace(callers_output, mine.output, now.output);
}

// Adds the step's messages, and the moves that pack those that are not in one piece.
void BoundProgram::add_messages(const ProgramStep& step, StepEnds& ends, const Binding& binding) {
    const auto add = [&](const ChunkMessage& message, const Moves::Operand& memory) {
        const std::size_t bytes = bytes_of(message, binding.layout);
        const auto blocks = static_cast<std::uint32_t>(message.parts.size());
        if (bytes > 0) posts_.push_back({message.peer, memory, bytes, blocks});
    };
    const auto add_in_place = [&](const ChunkMessage& message) {
        add(message, operand({std::nullopt, message.parts.front().place}, binding));
    };
    own_places_.place_inbox(step, binding.layout);
    for (const ChunkMessage& message : step.receives) add_in_place(message);
    ends.receives = static_cast<std::uint32_t>(posts_.size());
    moves_.close();
    std::size_t packed = own_places_.outbox();
    std::uint32_t blocks = 0;  // that are packed
    for (const ChunkMessage& message : step.sends) {
        if (message.is_in_one_piece()) {
            add_in_place(message);
            continue;
        }
        const auto next = [&] { return Moves::Operand{own_.get() + packed, nullptr, 0, blocks}; };
        add(message, next());
        for (const ChunkMessage::Part& part : message.parts) {
            const Moves::Operand out = next(),
                                 source = operand({std::nullopt, part.place}, binding);
            const std::size_t bytes = binding.layout.bytes_of(part.chunk);
            moves_.add({&out, 1}, {&source, 1}, bytes);
            packed += bytes;
            ++blocks;
        }
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
    const auto blocks = end.place.has_neighbour() ? static_cast<std::uint32_t>(number) : 0;
    if (in == ChunkPlace::In::transit || in == ChunkPlace::In::inbox)
        return {own_.get() + own_places_.offset_of(end.place), nullptr, 0, blocks};
    const Rank owner = end.peer.value_or(buffers_.me);
    const Layout of_owner = binding.layout.of(owner);
    const PlanMemory& memory = at(memory_, owner);
    if (!end.place.is_of_caller())
        return {memory.data + reachable_.offset_of(end.place, of_owner), nullptr, 0, blocks};
    const bool is_input = in == ChunkPlace::In::input;
    const std::size_t offset = of_owner.offset_of(
        side_of(end.place, buffers_.in_place, Positions(buffers_.spec, owner)), number);
    const Begins& begins = at(begins_, owner);
    std::byte* const begin = is_input ? begins.input : begins.output;
    if (!end.peer)
        return {begin + offset, is_input ? &callers_input : &callers_output, offset, blocks};
    const auto& buffer = is_input ? memory.buffers->input : memory.buffers->output;
    if (!buffers_.are_addressed())
        return {nullptr, &buffer.memory, offset, blocks};  // by the kernel
    // Until the peer's buffers have been looked up, any address will do.
    return {(begin != nullptr ? begin : memory.data) + offset, &buffer.memory, offset, blocks};
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
