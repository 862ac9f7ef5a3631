// SPDX-License-Identifier: Apache-2.0
#include "collectives/formats/file_programs.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tutti {
namespace {

// The last operations on a chunk of memory.
struct Uses {
    int writer = -1;
    std::vector<int> readers;  // since then
};

class ProgramWriter {
public:
    ProgramWriter(const FilePlaces& places, int ranks)
        : places_(places), programs_(as_size(ranks)), uses_(as_size(ranks)) {}

    // Adds the moves of one step. All sends come first, as they send what was there before.
    void add_step(const PlacedMove* begin, const PlacedMove* end) {
        const int first_message = messages_;
        for (const PlacedMove* move = begin; move != end; ++move)
            if (move->from != move->to)
                add(move->from, {.action = FileAction::send,
                                 .peer = move->to,
                                 .message = messages_++,
                                 .source = move->source,
                                 .chunk = move->chunk,
                                 .count = move->count});
        int message = first_message;
        for (const PlacedMove* move = begin; move != end; ++move) {
            const bool adds = move->action == Action::reduce;
            FileOperation operation{.source = move->source,
                                    .target = move->target,
                                    .chunk = move->chunk,
                                    .count = move->count};
            if (adds && move->operand != move->target)
                add(move->to, {.action = FileAction::copy,
                               .source = move->operand,
                               .target = move->target,
                               .chunk = move->chunk,
                               .count = move->count});
            if (move->from == move->to) {
                operation.action = adds ? FileAction::reduce : FileAction::copy;
            } else {
                operation.action = adds ? FileAction::receive_reduce : FileAction::receive;
                operation.peer = move->from;
                operation.message = message++;
            }
            add(move->to, std::move(operation));
        }
    }

    std::vector<std::vector<FileOperation>> programs() && { return std::move(programs_); }

private:
    void add(Rank rank, FileOperation operation) {
        auto& program = at(programs_, rank);
        const int number = int_size(program);
        const FileAction action = operation.action;
        const bool is_local = action == FileAction::copy || action == FileAction::reduce;
        const bool adds = action == FileAction::receive_reduce || action == FileAction::reduce;
        for (int i = 0; i < operation.count; ++i) {
            if (is_local || action == FileAction::send)
                read(rank, operation.source.next(i), number, operation);
            if (adds) read(rank, operation.target.next(i), number, operation);
        }
        operation.after = operation.sources_of;
        if (action != FileAction::send)
            for (int i = 0; i < operation.count; ++i)
                write(rank, operation.target.next(i), number, operation);
        for (auto* list : {&operation.sources_of, &operation.after}) {
            std::ranges::sort(*list);
            const auto repeated = std::ranges::unique(*list);
            list->erase(repeated.begin(), repeated.end());
            std::erase(*list, number);
        }
        program.push_back(std::move(operation));
    }

    Uses& uses(Rank rank, FilePlace place) {
        return at(uses_, rank)[places_.memory_of(rank, place)];
    }
    void read(Rank rank, FilePlace place, int number, FileOperation& operation) {
        Uses& of_place = uses(rank, place);
        if (of_place.writer >= 0) operation.sources_of.push_back(of_place.writer);
        of_place.readers.push_back(number);
    }
    void write(Rank rank, FilePlace place, int number, FileOperation& operation) {
        Uses& of_place = uses(rank, place);
        if (of_place.writer >= 0) operation.after.push_back(of_place.writer);
        operation.after.insert(operation.after.end(), of_place.readers.begin(),
                               of_place.readers.end());
        of_place = {.writer = number, .readers = {}};
    }

    const FilePlaces& places_;
    std::vector<std::vector<FileOperation>> programs_;
    std::vector<std::map<FilePlace, Uses>> uses_;  // by rank
    int messages_ = 0;
};

}  // namespace

std::vector<std::vector<FileOperation>> programs_of(const PlacedMoves& placed,
                                                    const FilePlaces& places, int ranks) {
    ProgramWriter writer(places, ranks);
    const PlacedMove* const end = placed.moves.data() + placed.moves.size();
    for (const PlacedMove* begin = placed.moves.data(); begin != end;) {
        const PlacedMove* next = begin;
        while (next != end && next->step == begin->step) ++next;
        writer.add_step(begin, next);
        begin = next;
    }
    return std::move(writer).programs();
}

}  // namespace tutti
