// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/error.hpp"
#include "base/source.hpp"
#include "collectives/formats/format_writers.hpp"

namespace tutti {
namespace {

constexpr std::string_view xml_format = "MSCCL XML";

// Limits of MSCCL's interpreter.
constexpr int most_steps = 256, most_count = 71, most_blocks = 32, most_offset = 32767;

// A thread block has at most one peer to send to or to receive from; one has neither.
struct Block {
    int send = -1, receive = -1, steps = 0;
    std::string text = {};
};

// The place of an operation: a step of a block.
struct BlockStep {
    int block = -1, step = -1;
};

class XmlProgram {
public:
    explicit XmlProgram(const std::vector<FileOperation>& program) : program_(program) {
        std::vector<bool> has_dependents(program.size());
        for (const FileOperation& operation : program) {
            const int block = block_of(operation);
            waits_.push_back(waits_of(operation, block));
            for (const int wait : waits_.back()) has_dependents[as_size(wait)] = true;
            int& steps = at(blocks_, block).steps;
            steps += std::max(1, int_size(waits_.back()));
            steps_.push_back({block, steps - 1});
        }
        for (std::size_t i = 0; i < program.size(); ++i) write(i, has_dependents[i]);
    }

    const std::vector<Block>& blocks() const { return blocks_; }

private:
    int block_of(const FileOperation& operation) {
        Block wanted;
        if (operation.action == FileAction::send) wanted.send = operation.peer.index;
        if (operation.action == FileAction::receive ||
            operation.action == FileAction::receive_reduce)
            wanted.receive = operation.peer.index;
        const auto [found, is_new] =
            block_of_peers_.try_emplace({wanted.send, wanted.receive}, int_size(blocks_));
        if (is_new) blocks_.push_back(wanted);
        return found->second;
    }

    // Returns the last operation of each other block that this one has to wait for.
    std::vector<int> waits_of(const FileOperation& operation, int block) const {
        std::map<int, int> last;  // block -> operation
        for (const int before : operation.after)
            if (at(steps_, before).block != block) last[at(steps_, before).block] = before;
        std::vector<int> waits;
        for (const auto& [other, before] : last) waits.push_back(before);
        return waits;
    }

    // A step can wait for one other: the first ones of several wait in steps without an action.
    void write(std::size_t number, bool has_dependents) {
        const FileOperation& operation = program_[number];
        const std::vector<int>& waits = waits_[number];
        const auto [block, step] = steps_[number];
        auto out = std::back_inserter(at(blocks_, block).text);
        const auto line = [&](int at_step, std::string_view type, FilePlace source,
                              FilePlace target, int count, int wait, bool is_awaited) {
            const BlockStep awaited = wait < 0 ? BlockStep{} : at(steps_, wait);
            fmt::format_to(
                out,
                "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" "
                "dstoff=\"{}\" cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
                at_step, type, static_cast<char>(source.buffer), source.index,
                static_cast<char>(target.buffer), target.index, count, awaited.block, awaited.step,
                is_awaited ? 1 : 0);
        };
        constexpr FilePlace unused_source{FileBuffer::input, -1},
            unused_target{FileBuffer::output, -1};
        for (int i = 0; i + 1 < int_size(waits); ++i)
            line(step - int_size(waits) + 1 + i, "nop", unused_source, unused_target, 0,
                 at(waits, i), false);
        constexpr std::string_view types[] = {"s", "r", "rrc", "cpy", "re"};
        const FileAction action = operation.action;
        // A receive has no source here, and a send no target: the other place is repeated.
        const bool is_arrival =
            action == FileAction::receive || action == FileAction::receive_reduce;
        line(step, at(types, action), is_arrival ? operation.target : operation.source,
             action == FileAction::send ? operation.source : operation.target, operation.count,
             waits.empty() ? -1 : waits.back(), has_dependents);
    }

    const std::vector<FileOperation>& program_;
    std::vector<Block> blocks_;
    std::map<std::pair<int, int>, int> block_of_peers_;
    std::vector<BlockStep> steps_;         // by operation
    std::vector<std::vector<int>> waits_;  // by operation
};

}  // namespace

std::vector<ExportedFile> msccl_xml(const ExportedSchedule& exported) {
    const CollectiveSpec& spec = exported.spec;
    const auto collective = msccl_name(spec.collective(), xml_format, &MscclName::xml);
    if (spec.root().index != 0)
        refuse_export(xml_format, fmt::format("root {}", spec.root().index),
                      "--root 0, or --to goal, chakra or dot");
    const FilePlaces places(exported.schedule.chunks(), spec, exported.in_place);
    const PlacedMoves placed = place_moves(exported.schedule, places, {.most_chunks = most_count});
    const auto programs = programs_of(placed, places, spec.ranks());
    const auto by_all_ranks = spec.collective() == Collective::all_to_all ? spec.ranks() : 1;
    const int chunks = exported.schedule.chunks() / by_all_ranks;
    const bool is_in_place = exported.in_place == Aliasing::in_place;
    std::string text;
    auto out = std::back_inserter(text);
    fmt::format_to(out,
                   "<algo name=\"{}\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"{}\" "
                   "ngpus=\"{}\" coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" "
                   "maxBytes=\"{}\">\n",
                   xml_escaped(exported.name), chunks, spec.ranks(), collective,
                   is_in_place ? 1 : 0, is_in_place ? 0 : 1, std::int64_t{1} << 40);
    for (Rank rank : all_ranks(spec.ranks())) {
        // Ranks other than the root pass both buffers, too.
        const auto chunks_of = [&](int own) { return own > 0 ? own : chunks; };
        const int scratch = at(placed.scratch_chunks, rank);
        const XmlProgram program(at(programs, rank));
        if (int_size(program.blocks()) > most_blocks)
            refuse_export(xml_format,
                          fmt::format("{} thread blocks of a GPU (at most {})",
                                      program.blocks().size(), most_blocks),
                          "fewer --ranks, or --to goal, chakra or dot");
        if (std::max(chunks, scratch) > most_offset)
            refuse_export(
                xml_format,
                fmt::format("{} chunks (at most {})", std::max(chunks, scratch), most_offset),
                "fewer --ranks or --segments, or --to goal, chakra or dot");
        fmt::format_to(out, "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n",
                       rank.index, chunks_of(places.input_chunks(rank)),
                       chunks_of(places.output_chunks(rank)), scratch);
        int id = 0;
        for (const Block& block : program.blocks()) {
            if (block.steps > most_steps)
                refuse_export(
                    xml_format,
                    fmt::format("{} steps of a thread block (at most {})", block.steps, most_steps),
                    "fewer --ranks or --segments, or --to goal, chakra or dot");
            fmt::format_to(out,
                           "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"0\">\n{}    </tb>\n",
                           id++, block.send, block.receive, block.text);
        }
        text += "  </gpu>\n";
    }
    return {{.name_end = "", .text = text + "</algo>\n"}};
}

}  // namespace tutti
