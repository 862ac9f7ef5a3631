// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/program/program.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

bool ChunkMessage::is_in_one_piece() const {
    const ChunkPlace first = parts.front().place;
    if (parts.size() > 1 && !first.has_neighbour()) return false;
    for (std::size_t i = 1; i < parts.size(); ++i)
        if (parts[i].place != first.after(static_cast<int>(i))) return false;
    return true;
}

ProgramMemory::ProgramMemory(const RankProgram& program, const MostBytes& most)
    : slots_(program.copies_input ? round_up(most.all_blocks(), cache_line) : 0),
      slot_bytes_(round_up(most.chunk(), cache_line)),
      end_(slots_ + as_size(program.slots) * slot_bytes_) {}

std::size_t MostBytes::chunk() const {
    constexpr std::size_t most_bytes_of_element = 16;
    return block_ == 0 ? 0 : block_ / as_size(chunks_per_block_) + most_bytes_of_element;
}

std::size_t MostBytes::transit(const RankProgram& program) const {
    return program.transit.size() * std::min(chunk(), block_);
}

// Chunks of one block have no more bytes together than the block.
std::size_t MostBytes::message(const ChunkMessage& message) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < message.parts.size();) {
        const int block = message.parts[i].chunk / chunks_per_block_;
        std::size_t chunks = 0;
        for (; i < message.parts.size() && message.parts[i].chunk / chunks_per_block_ == block; ++i)
            ++chunks;
        bytes += std::min(chunks * chunk(), block_);
    }
    return bytes;
}

std::size_t MostBytes::inbox(const ProgramStep& step) const {
    std::size_t bytes = 0;
    for (const ChunkMessage& one : step.receives)
        if (one.parts.front().place.in == ChunkPlace::In::inbox) bytes += message(one);
    return bytes;
}

std::size_t MostBytes::outbox(const ProgramStep& step) const {
    std::size_t bytes = 0;
    for (const ChunkMessage& one : step.sends)
        if (!one.is_in_one_piece()) bytes += message(one);
    return bytes;
}

OwnMemory::OwnMemory(const RankProgram& program, const MostBytes& most, std::size_t begin) {
    std::size_t inbox = 0, outbox = 0, arriving = 0;
    for (const ProgramStep& step : program.steps) {
        inbox = std::max(inbox, most.inbox(step));
        outbox = std::max(outbox, most.outbox(step));
        std::size_t chunks = 0;
        for (const ChunkMessage& message : step.receives) chunks += message.parts.size();
        arriving = std::max(arriving, chunks);
    }
    // Parts of devices begin where whole lines of their memory do.
    constexpr std::size_t alignment = 256;
    transit_ = round_up(begin, alignment);
    inbox_ = round_up(transit_ + most.transit(program), alignment);
    outbox_ = round_up(inbox_ + inbox, alignment);
    end_ = outbox_ + outbox;
    in_transit_.reserve(program.transit.size());
    in_inbox_.reserve(arriving);
}

void OwnMemory::place_transit(const RankProgram& program, const Layout& layout) {
    in_transit_.clear();
    std::size_t next = transit_;
    for (const int chunk : program.transit) {
        in_transit_.push_back(next);
        next += layout.bytes_of(chunk);
    }
}

void OwnMemory::place_inbox(const ProgramStep& step, const Layout& layout) {
    in_inbox_.clear();
    std::size_t next = inbox_;
    for (const ChunkMessage& message : step.receives) {
        if (message.parts.front().place.in != ChunkPlace::In::inbox) continue;
        for (const ChunkMessage::Part& part : message.parts) {
            in_inbox_.push_back(next);
            next += layout.bytes_of(part.chunk);
        }
    }
}

std::size_t bytes_of(const ChunkMessage& message, const Layout& layout) {
    std::size_t bytes = 0;
    for (const ChunkMessage::Part& part : message.parts) bytes += layout.bytes_of(part.chunk);
    return bytes;
}

}  // namespace tutti
