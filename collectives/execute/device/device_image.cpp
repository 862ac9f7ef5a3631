// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "base/rounding.hpp"
#include "collectives/execute/device/device_draft.hpp"

namespace tutti {
namespace {

// The moves of one block.
struct Share {
    std::vector<DevicePhase> phases{DevicePhase{}};
    std::vector<DeviceMove> moves;
    std::vector<std::byte*> outs;
    std::vector<const std::byte*> sources;

    void add(const Moves::View& move, std::uint64_t from, std::uint64_t end) {
        moves.push_back({end - from, static_cast<std::uint32_t>(outs.size()),
                         static_cast<std::uint32_t>(move.outs.size()),
                         static_cast<std::uint32_t>(sources.size()),
                         static_cast<std::uint32_t>(move.sources.size())});
        for (std::byte* out : move.outs) outs.push_back(out + from);
        for (const std::byte* source : move.sources) sources.push_back(source + from);
    }
};

class Distributor {
public:
    Distributor(const DeviceDraft& draft, unsigned blocks, std::size_t grain)
        : draft_(draft), shares_(blocks), grain_(grain) {}

    std::vector<Share> distribute() {
        std::uint32_t next = 0;
        for (const DevicePhase& phase : draft_.phases) {
            for (Share& share : shares_) share.phases.push_back(phase);
            for (; next < phase.packing_end; ++next) add(draft_.moves.at(next));
            for (Share& share : shares_) share.phases.back().packing_end = size_of_moves(share);
            for (; next < phase.moves_end; ++next) add(draft_.moves.at(next));
            for (Share& share : shares_) share.phases.back().moves_end = size_of_moves(share);
        }
        if (draft_.divided_bytes > 0) divide();
        return std::move(shares_);
    }

private:
    static std::uint32_t size_of_moves(const Share& share) {
        return static_cast<std::uint32_t>(share.moves.size());
    }

    // Calls visit(share, from, end) for each block that gets a part of it.
    template <class Visit>
    void cut(std::uint64_t bytes, Visit visit) {
        constexpr std::uint64_t unit = 16;
        const std::uint64_t units = divide_up(bytes, unit);
        const std::uint64_t parts = std::clamp<std::uint64_t>(bytes / grain_, 1, shares_.size());
        for (std::uint64_t part = 0; part < parts; ++part, ++next_share_) {
            const std::uint64_t from = units * part / parts * unit;
            const std::uint64_t end = std::min(units * (part + 1) / parts * unit, bytes);
            visit(shares_[next_share_ % shares_.size()], from, end);
        }
    }

    void add(const Moves::View& move) {
        cut(move.bytes, [&](Share& share, std::uint64_t from, std::uint64_t end) {
            share.add(move, from, end);
        });
    }

    void divide() {
        const Moves::View all{draft_.divided_bytes, {&draft_.divided, 1}, {}};
        for (Share& share : shares_) {
            share.phases.push_back(share.phases.back());
            share.phases.back().finished = DevicePhase::nothing;
            share.phases.back().packing_end = size_of_moves(share);
        }
        cut(all.bytes, [&](Share& share, std::uint64_t from, std::uint64_t end) {
            share.add(all, from, end);
            share.moves.back().divisor = draft_.divisor;
        });
        for (Share& share : shares_) share.phases.back().moves_end = size_of_moves(share);
    }

    const DeviceDraft& draft_;
    std::vector<Share> shares_;
    std::size_t grain_;
    std::size_t next_share_ = 0;
};

// Concatenated lists: the offset of each is known before the address of the whole.
class Lists {
public:
    template <class T>
    std::size_t add(const std::vector<T>& list) {
        bytes_.resize((bytes_.size() + 15) / 16 * 16);
        const std::size_t begin = bytes_.size();
        const auto raw = std::as_bytes(std::span(list));
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
        return begin;
    }
    std::vector<std::byte> take() { return std::move(bytes_); }
    std::size_t size() const { return bytes_.size(); }

private:
    std::vector<std::byte> bytes_;
};

}  // namespace

DeviceImage image_of(const DeviceDraft& draft, Rank me, unsigned blocks, std::size_t grain,
                     DeviceState* state, const std::function<std::byte*(std::size_t)>& place) {
    const std::vector<Share> shares = Distributor(draft, blocks, grain).distribute();
    Lists lists;
    const std::size_t waits = lists.add(draft.waits), sends = lists.add(draft.sends),
                      receives = lists.add(draft.receives);
    struct Begins {
        std::size_t phases, moves, outs, sources;
    };
    std::vector<Begins> begins;
    for (const Share& share : shares)
        begins.push_back({lists.add(share.phases), lists.add(share.moves), lists.add(share.outs),
                          lists.add(share.sources)});

    constexpr std::size_t room_to_align = 16;
    std::byte* const base = place(lists.size() + room_to_align + blocks * sizeof(DeviceProgram));
    const auto at = [&]<class T>(std::size_t begin, const T*) {
        return reinterpret_cast<const T*>(base + begin);
    };
    std::vector<DeviceProgram> programs;
    for (std::size_t block = 0; block < shares.size(); ++block) {
        const Begins& of_block = begins[block];
        DeviceProgram& program = programs.emplace_back();
        program.state = state;
        program.steps_of_run = draft.steps_of_run;
        program.rank = me.index;
        program.blocks = blocks;
        program.phases_count = static_cast<std::uint32_t>(shares[block].phases.size()) - 1;
        program.phases = at(of_block.phases, program.phases);
        program.waits = at(waits, program.waits);
        program.sends = at(sends, program.sends);
        program.receives = at(receives, program.receives);
        program.moves = at(of_block.moves, program.moves);
        program.outs = at(of_block.outs, program.outs);
        program.sources = at(of_block.sources, program.sources);
    }
    DeviceImage image;
    image.phases = shares.front().phases.size() - 1;
    image.programs = lists.add(programs);
    image.bytes = lists.take();
    return image;
}

}  // namespace tutti
