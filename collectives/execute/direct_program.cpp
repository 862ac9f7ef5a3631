// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/direct_program.hpp"

#include <algorithm>
#include <unordered_map>

namespace tutti {
namespace {

// A peer reads, at a step, what a chunk has at a place: until it has finished that step the place
// must not be written.
struct Reader {
    Place place;
    Rank peer;
    int step;
};

// Where the value of a chunk is, could be, and who still looks at it.
struct Chunk {
    Place home;                      // where it belongs in the end (or stays while passing through)
    Place current;                   // where its value is now
    std::optional<Place> alternate;  // a second place, for steps in which peers read the first
    std::vector<Reader> readers;
    int read_in_step = -1;
};

class Compiler {
public:
    Compiler(const PlanRequest& request, Rank me, std::optional<Place> input,
             std::optional<Place> output)
        : request_(request),
          me_(me),
          promise_(request.call.collective, request.schedule.ranks(), request.call.root),
          layout_(request.call, promise_, me, request.schedule.chunks()),
          waited_for_(static_cast<std::size_t>(request.schedule.ranks()), -1) {
        program_.shown.resize(static_cast<std::size_t>(request.schedule.ranks()));
        // In place, an all-to-all's input and output chunks overlap crosswise: read from a copy.
        if (input && output && input->offset == output->offset &&
            request.call.collective == Collective::all_to_all)
            input.reset();
        if (!input) input = program_.input_image = take(request.input.size());
        if (!output) output = program_.output_image = take(request.output.size());
        input_ = *input;
        output_ = *output;
    }

    DirectProgram compile() {
        RankStep step;
        for (int number = 0; number < request_.schedule.steps(); ++number) {
            read_step(request_.schedule, number, me_, layout_, step);
            if (!step.is_empty()) draft(number, step);
        }
        settle();
        return std::move(program_);
    }

private:
    // Shared memory of the plan, on cache lines of its own.
    Place take(std::size_t bytes) {
        const Place place{Place::In::plan, program_.plan_bytes};
        program_.plan_bytes += (bytes + cache_line - 1) / cache_line * cache_line;
        return place;
    }

    static Place at(Place base, std::size_t offset) { return {base.in, base.offset + offset}; }

    Chunk& chunk(int number) {
        const auto [known, is_new] = chunks_.try_emplace(number);
        if (is_new) {
            const auto in_output = layout_.in_output(number);
            const auto in_input = layout_.in_input(number);
            Chunk& chunk = known->second;
            chunk.home = in_output ? at(output_, *in_output) : take(layout_.bytes_of(number));
            chunk.current = in_input ? at(input_, *in_input) : chunk.home;
        }
        return known->second;
    }

    void draft(int number, const RankStep& step) {
        DirectStep& draft = program_.steps.emplace_back(DirectStep{number, {}, {}});
        for (const Passage& departure : step.departures) show(number, departure);
        std::unordered_map<int, std::size_t> move_of;
        for (const Passage& arrival : step.arrivals) {
            if (arrival.peer != me_) need(draft.needs, {arrival.peer, number});
            const auto [known, is_new] = move_of.try_emplace(arrival.chunk, draft.moves.size());
            if (is_new) draft.moves.push_back({{}, {}, layout_.bytes_of(arrival.chunk)});
            auto& sources = draft.moves[known->second].sources;
            if (is_new && arrival.action == Action::reduce) sources.push_back(own(arrival.chunk));
            sources.push_back(arrival.peer == me_ ? own(arrival.chunk)
                                                  : next_shown_by(arrival.peer));
        }
        // Only now may values move: all of the step reads what was held before it.
        for (const auto& [chunk_number, move] : in_order(move_of)) {
            Chunk& written = chunk(chunk_number);
            const Place target = free_place(number, chunk_number, written);
            wait_for_readers(draft.needs, written, target);
            draft.moves[move].out = written.current = target;
        }
    }

    static std::vector<std::pair<int, std::size_t>> in_order(
        const std::unordered_map<int, std::size_t>& moves) {
        std::vector<std::pair<int, std::size_t>> sorted(moves.begin(), moves.end());
        std::sort(sorted.begin(), sorted.end(),
                  [](const auto& a, const auto& b) { return a.second < b.second; });
        return sorted;
    }

    void show(int step, const Passage& departure) {
        Chunk& shown = chunk(departure.chunk);
        program_.shown[static_cast<std::size_t>(departure.peer.index)].push_back(shown.current);
        shown.readers.push_back({shown.current, departure.peer, step});
        shown.read_in_step = step;
        auto& last = last_read_by_[departure.peer.index];
        last = std::max(last, step + 1);
    }

    Source own(int number) { return {std::nullopt, chunk(number).current, 0}; }
    Source next_shown_by(Rank peer) { return {peer, {}, seen_of_[peer.index]++}; }

    // Home, unless peers read there in this very step: then the value moves beside it.
    Place free_place(int step, int number, Chunk& chunk) {
        if (chunk.read_in_step != step || chunk.current != chunk.home) return chunk.home;
        if (!chunk.alternate) chunk.alternate = take(layout_.bytes_of(number));
        return *chunk.alternate;
    }

    void wait_for_readers(std::vector<Need>& needs, Chunk& chunk, Place target) {
        std::erase_if(chunk.readers, [&](const Reader& reader) {
            if (reader.place != target) return false;
            need(needs, {reader.peer, reader.step + 1});
            return true;
        });
    }

    // Counters only grow, so a need that an earlier one covers is left out.
    void need(std::vector<Need>& needs, Need one) {
        int& waited = waited_for_[static_cast<std::size_t>(one.peer.index)];
        if (one.steps <= waited) return;
        waited = one.steps;
        needs.push_back(one);
    }

    // Results that are not where they belong are copied there: at once if nobody reads that place,
    // else after the last reader.
    void settle() {
        for_each_output_chunk(promise_, me_, request_.schedule.chunks(), [&](int number) {
            const std::size_t bytes = layout_.bytes_of(number);
            if (bytes == 0) return;
            const Chunk& result = chunk(number);
            if (result.current == result.home) return;
            const bool is_read =
                std::any_of(result.readers.begin(), result.readers.end(),
                            [&](const Reader& r) { return r.place == result.home; });
            auto& moves = is_read ? program_.settling_late : program_.settling_early;
            moves.push_back({result.home, {{std::nullopt, result.current, 0}}, bytes});
        });
        for (const auto& [peer, steps] : last_read_by_)
            need(program_.last_readers, {Rank{peer}, steps});
    }

    const PlanRequest& request_;
    Rank me_;
    Promise promise_;
    Layout layout_;
    Place input_, output_;
    DirectProgram program_;
    std::unordered_map<int, Chunk> chunks_;
    std::unordered_map<int, std::uint32_t> seen_of_;  // by peer: things it has shown so far
    std::unordered_map<int, int> last_read_by_;       // by peer: steps it must finish
    std::vector<int> waited_for_;                     // by peer: what an earlier need covers
};

}  // namespace

DirectProgram compile_direct(const PlanRequest& request, Rank me, std::optional<Place> input,
                             std::optional<Place> output) {
    return Compiler(request, me, input, output).compile();
}

}  // namespace tutti
