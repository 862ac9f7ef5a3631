// SPDX-License-Identifier: Apache-2.0
#include "collectives/formats/placed_moves.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.hpp"

namespace tutti {

FilePlaces::FilePlaces(int chunks, const CollectiveSpec& spec, Aliasing in_place)
    : spec_(spec), per_block_(static_cast<int>(chunks / spec.blocks())), in_place_(in_place) {
    if (in_place == Aliasing::in_place && spec.exchanges())
        throw Error(fmt::format("{} cannot be exported in place; use --inplace no",
                                name_of(spec.collective())));
}

FilePlace FilePlaces::of_input(Rank rank, int chunk) const {
    const auto block = spec_.place_in_input(rank, chunk / per_block_);
    return {FileBuffer::input, static_cast<int>(block) * per_block_ + chunk % per_block_};
}

FilePlace FilePlaces::of_output(Rank rank, int chunk) const {
    const auto block = spec_.place_in_output(rank, chunk / per_block_);
    return {FileBuffer::output, static_cast<int>(block) * per_block_ + chunk % per_block_};
}

FilePlace FilePlaces::memory_of(Rank rank, FilePlace place) const {
    if (in_place_ == Aliasing::none || place.buffer != FileBuffer::input) return place;
    const auto block = spec_.block_in_input(rank, place.index / per_block_);
    const int chunk = static_cast<int>(block) * per_block_ + place.index % per_block_;
    return ends_with(rank, chunk) ? of_output(rank, chunk) : place;
}

int FilePlaces::input_chunks(Rank rank) const {
    return static_cast<int>(spec_.input_blocks(rank)) * per_block_;
}
int FilePlaces::output_chunks(Rank rank) const {
    return static_cast<int>(spec_.output_blocks(rank)) * per_block_;
}
bool FilePlaces::starts_with(Rank rank, int chunk) const {
    return spec_.starts_with(rank, chunk / per_block_);
}
bool FilePlaces::ends_with(Rank rank, int chunk) const {
    return spec_.ends_with(rank, chunk / per_block_);
}

namespace {

// A chunk of a rank: where its value is, and what the current step does with it.
struct Cell {
    std::optional<FilePlace> place;
    std::optional<FilePlace> scratch[2];
    FilePlace before;         // its place when the step began
    bool is_written = false;  // by any transfer of this step
    bool is_sent = false;     // to a peer in this step
    bool is_kept = false;     // the rank itself reads the old value after it wrote the new one
    bool has_target = false;  // the new value has got its place
};

class Placer {
public:
    Placer(const Schedule& schedule, const FilePlaces& places, const MoveRules& rules)
        : schedule_(schedule), places_(places), rules_(rules) {
        cells_.resize(as_size(schedule.ranks()) * as_size(schedule.chunks()));
        placed_.scratch_chunks.resize(as_size(schedule.ranks()));
        for (Rank rank : all_ranks(schedule.ranks()))
            for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
                if (places.starts_with(rank, chunk))
                    cell(rank, chunk).place = places.of_input(rank, chunk);
    }

    PlacedMoves run() && {
        for (step_ = 0; step_ < schedule_.steps(); ++step_) {
            std::vector<Transfer> transfers;
            schedule_.visit(step_, [&](const Transfer& t) { transfers.push_back(t); });
            for (const Transfer& t : transfers) note(t);
            for (const Transfer& t : transfers) place(t);
            for (const Transfer& t : transfers) forget(t);
        }
        for (Rank rank : all_ranks(schedule_.ranks()))
            for (int chunk = 0; chunk < schedule_.chunks(); ++chunk)
                if (places_.ends_with(rank, chunk)) bring_to_output(rank, chunk);
        return std::move(placed_);
    }

private:
    Cell& cell(Rank rank, int chunk) {
        return cells_[as_size(rank) * as_size(schedule_.chunks()) + as_size(chunk)];
    }
    bool is_same_memory(Rank rank, FilePlace a, FilePlace b) const {
        return places_.memory_of(rank, a) == places_.memory_of(rank, b);
    }

    void note(const Transfer& t) {
        for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
            Cell& source = cell(t.from, chunk);
            if (!source.place)
                throw Error(
                    fmt::format("rank {} sends chunk {} before it has it; use 'tutti "
                                "verify'",
                                t.from.index, chunk));
            source.before = *source.place;
            if (t.from != t.to) source.is_sent = true;
            if (t.from == t.to && t.action == Action::reduce) source.is_kept = true;
            Cell& target = cell(t.to, chunk);
            target.is_written = true;
            if (target.place) target.before = *target.place;
        }
    }

    void forget(const Transfer& t) {
        for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk)
            for (const Rank rank : {t.from, t.to}) {
                Cell& done = cell(rank, chunk);
                done.is_written = done.is_sent = done.is_kept = done.has_target = false;
            }
    }

    // Whether a write to the cell may replace the value that it had when the step began.
    bool may_overwrite(Rank rank, const Cell& written) const {
        if (!written.place || written.is_kept) return false;
        if (written.is_sent && rules_.targets == Targets::apart) return false;
        return places_.memory_of(rank, *written.place).buffer != FileBuffer::input;
    }

    FilePlace new_place(Rank rank, int chunk, Cell& written) {
        const auto is_free = [&](FilePlace place) {
            return !written.place || !is_same_memory(rank, place, written.before);
        };
        if (places_.ends_with(rank, chunk))
            if (const FilePlace output = places_.of_output(rank, chunk); is_free(output))
                return output;
        for (auto& scratch : written.scratch) {
            if (!scratch)
                scratch = FilePlace{FileBuffer::scratch, at(placed_.scratch_chunks, rank)++};
            if (is_free(*scratch)) return *scratch;
        }
        throw Error("a chunk needs more than two places");  // one of two always is free
    }

    void place(const Transfer& t) {
        for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
            Cell& written = cell(t.to, chunk);
            if (t.action == Action::reduce && !written.place)
                throw Error(
                    fmt::format("rank {} adds to chunk {} before it has it; use 'tutti "
                                "verify'",
                                t.to.index, chunk));
            if (t.action == Action::copy && t.from == t.to) continue;  // the first summand
            PlacedMove move{.step = step_,
                            .from = t.from,
                            .to = t.to,
                            .action = t.action,
                            .source = cell(t.from, chunk).before,
                            .chunk = chunk};
            if (t.action == Action::reduce) move.operand = *written.place;
            if (!written.has_target && !may_overwrite(t.to, written))
                written.place = new_place(t.to, chunk, written);
            written.has_target = true;
            move.target = *written.place;
            const auto reads_and_writes = [](const Cell& c) { return c.is_sent && c.is_written; };
            const bool is_single =
                rules_.targets == Targets::after_reads &&
                (reads_and_writes(written) || reads_and_writes(cell(t.from, chunk)));
            add(move, is_single);
        }
    }

    void bring_to_output(Rank rank, int chunk) {
        const auto& place = cell(rank, chunk).place;
        const FilePlace output = places_.of_output(rank, chunk);
        if (!place)
            throw Error(
                fmt::format("rank {} never gets chunk {}; use 'tutti verify'", rank.index, chunk));
        if (!is_same_memory(rank, *place, output))
            add({.step = step_,
                 .from = rank,
                 .to = rank,
                 .source = *place,
                 .target = output,
                 .chunk = chunk},
                /*is_single=*/false);
    }

    // Adds a move of one chunk to the last move if it continues that, unless one of them is single.
    void add(const PlacedMove& move, bool is_single) {
        if (!is_single && !placed_.moves.empty() && !last_is_single_) {
            PlacedMove& last = placed_.moves.back();
            PlacedMove next = last;
            next.source = last.source.next(last.count);
            next.target = last.target.next(last.count);
            if (move.action == Action::reduce) next.operand = last.operand.next(last.count);
            next.chunk = last.chunk + last.count;
            const auto key = [](const PlacedMove& m) {
                return std::tie(m.step, m.from, m.to, m.action, m.source, m.operand, m.target,
                                m.chunk);
            };
            if (key(next) == key(move) && last.count < rules_.most_chunks) {
                ++last.count;
                return;
            }
        }
        last_is_single_ = is_single;
        placed_.moves.push_back(move);
    }

    const Schedule& schedule_;
    const FilePlaces& places_;
    MoveRules rules_;
    std::vector<Cell> cells_;  // by rank, then chunk
    PlacedMoves placed_;
    int step_ = 0;
    bool last_is_single_ = false;
};

}  // namespace

PlacedMoves place_moves(const Schedule& schedule, const FilePlaces& places,
                        const MoveRules& rules) {
    return Placer(schedule, places, rules).run();
}

}  // namespace tutti
