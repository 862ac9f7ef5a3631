// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/direct/direct_program.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/rounding.hpp"

namespace tutti {

std::optional<int> PushFacts::push_step(const Having& having, const Offer& offer, int step) {
    if (!offer.is_open) return std::nullopt;
    // In the very pass that computes the value; there the sender may read the old one, too.
    if (having.computed_in && offer.last_use < *having.computed_in &&
        offer.last_read_by_sender <= *having.computed_in)
        return having.computed_in;
    // Loads strictly grow from those who put to those who get: nobody waits in a circle.
    if (having.from_input && having.load < offer.load && offer.last_use < step &&
        offer.last_read_by_sender < step)
        return step;
    return std::nullopt;
}

namespace {

// A peer reads, at a step, what a chunk has at a place: until it has finished that step the place
// must not be written.
struct Reader {
    Place place;
    Rank peer;
    int step;
};

// A step of the program by its index, a move by that and its own: both lists still grow.
constexpr std::size_t prologue = SIZE_MAX;
struct MoveIndex {
    std::size_t step, move;
};

// Where the value of a chunk is, could be, and who still looks at it.
struct Chunk {
    Place home;                      // where it belongs in the end (or stays while passing through)
    Place current;                   // where its value is now
    std::optional<Place> staged;     // where peers read it, if not there
    std::optional<Place> alternate;  // a second place, for steps in which peers read the first
    std::vector<Reader> readers;
    int read_in_step = -1;      // at its current place
    int last_use_of_home = -1;  // by this rank
    bool is_input = true;
    bool passes = false;             // it is in no result of this rank
    std::optional<int> computed_in;  // the step; not if only copied
    std::optional<MoveIndex> written_by = {};
};

// Pieces of the plan's memory, of one size and on cache lines of their own. They are used again
// and again, so that few of them are needed and those stay in the cache; but not at once, so that
// nobody dependency wait for a rank that is a little behind.
constexpr int rest = 3;  // steps between two uses

// A place that is free once its readers have finished.
struct Slot {
    Place place;
    std::vector<Reader> readers;
    int last_use;
};

class Compiler {
public:
    // Without talk: only to find out what to tell.
    Compiler(const PlanRequest& request, Rank me, const Buffers& buffers,
             const PushNegotiation* talk)
        : request_(request),
          me_(me),
          spec_(request.call.collective, request.schedule.ranks(), request.call.root),
          layout_(request.call, spec_, me, request.schedule.chunks()),
          talk_(talk),
          buffers_(buffers),
          slot_bytes_(whole_lines(layout_.most_bytes_of_chunk())),
          copies_to_(ranks()),
          copies_from_(ranks()) {
        program_.shown.resize(ranks());
        facts_.havings.resize(ranks());
        facts_.offers.resize(ranks());
        // In place, an all-to-all's input and output chunks overlap crosswise: read from a copy.
        if (buffers.input == buffers.output && request.call.collective == Collective::all_to_all &&
            !request.input.empty()) {
            const Place copy = take(request.input.size());
            program_.prologue.push_back(
                {{{std::nullopt, copy}}, {{std::nullopt, buffers.input}}, request.input.size()});
            buffers_.input = copy;
        }
        if (reduces(request.call.collective)) return;
        for_each_output_chunk(spec_, me_, request.schedule.chunks(), [&](int number) {
            const auto from = layout_.in_input(number);
            if (from &&
                at(buffers_.input, *from) != at(buffers_.output, *layout_.in_output(number)))
                ++own_copies_;
        });
    }

    void compile() {
        RankStep step;
        for (int number = 0; number < request_.schedule.steps(); ++number) {
            read_step(request_.schedule, number, me_, layout_, step);
            if (!step.is_empty()) draft(number, step);
        }
        settle();
        leave_out_covered_needs();
    }

    DirectProgram take_program() { return std::move(program_); }
    PushFacts take_facts() { return std::move(facts_); }

private:
    std::size_t ranks() const { return static_cast<std::size_t>(request_.schedule.ranks()); }

    static std::size_t whole_lines(std::size_t bytes) { return round_up(bytes, cache_line); }

    Place take(std::size_t bytes) {
        const Place place{Place::In::plan, program_.plan_bytes};
        program_.plan_bytes += whole_lines(bytes);
        return place;
    }

    static Place at(Place base, std::size_t offset) { return {base.in, base.offset + offset}; }

    bool peers_read(Place place) const {
        return place.in == Place::In::plan || buffers_.peers_read;
    }

    // A slot that the step of index `user` (or the prologue) can write to; it waits for the readers
    // of what was there.
    Place take_slot(std::size_t user) {
        const int step = user == prologue ? -1 : program_.steps[user].number;
        if (free_slots_.empty() || free_slots_.front().last_use + rest > step)
            return take(slot_bytes_);
        const Slot slot = std::move(free_slots_.front());
        free_slots_.pop_front();
        for (const Reader& reader : slot.readers)
            program_.steps[user].dependencies.push_back({reader.peer, reader.step + 1});
        return slot.place;
    }

    void free_slot(Chunk& chunk, Place place, int last_use) {
        Slot slot{place, {}, last_use};
        std::erase_if(chunk.readers, [&](const Reader& reader) {
            if (reader.place != place) return false;
            slot.readers.push_back(reader);
            slot.last_use = std::max(slot.last_use, reader.step);
            return true;
        });
        free_slots_.push_back(std::move(slot));
    }

    Chunk& chunk(int number) {
        const auto [known, is_new] = chunks_.try_emplace(number);
        if (is_new) {
            const auto in_output = layout_.in_output(number);
            const auto in_input = layout_.in_input(number);
            Chunk& chunk = known->second;
            chunk.passes = !in_output;
            chunk.home =
                in_output ? at(buffers_.output, *in_output) : take_slot(program_.steps.size() - 1);
            chunk.current = in_input ? at(buffers_.input, *in_input) : chunk.home;
            chunk.is_input = in_input.has_value();
        }
        return known->second;
    }

    void draft(int number, const RankStep& step) {
        program_.steps.emplace_back(DirectStep{number, {}, {}});
        arriving_ = own_copies_ + static_cast<int>(step.receives.size());
        sending_ = arriving_ + static_cast<int>(step.sends.size());
        for (const RankTransfer& send : step.sends) send_out(number, send);

        const auto traffic = traffic_of(step);
        std::vector<Dependency> landings;
        std::vector<std::pair<int, std::size_t>> written;  // chunk, move
        std::unordered_map<int, std::size_t> move_of;
        for (const RankTransfer& receive : step.receives) {
            if (lands(number, receive, traffic.at(receive.chunk).receives, landings)) continue;
            if (receive.peer != me_) dependencies().push_back({receive.peer, number});
            const auto [known, is_new] = move_of.try_emplace(receive.chunk, moves().size());
            if (is_new) {
                written.emplace_back(receive.chunk, moves().size());
                moves().push_back({{}, {}, layout_.bytes_of(receive.chunk)});
                if (receive.action == Action::reduce)
                    moves().back().sources.push_back(own(number, receive.chunk));
            }
            moves()[known->second].sources.push_back(
                receive.peer == me_ ? own(number, receive.chunk) : next_shown_by(receive.peer));
        }
        // Only now may values move: all of the step reads what was held before it.
        for (const auto& [chunk_number, move] : written) write(number, chunk_number, move);
        for (const RankTransfer& send : step.sends) use_for_the_last_time(number, send.chunk);
        for (const RankTransfer& receive : step.receives)
            use_for_the_last_time(number, receive.chunk);
        if (!landings.empty())
            program_.steps.push_back(DirectStep{number, std::move(landings), {}});
    }

    std::vector<Dependency>& dependencies() { return program_.steps.back().dependencies; }
    std::vector<DirectMove>& moves() { return program_.steps.back().moves; }

    // What nobody has to do with any more leaves its slot to others.
    void use_for_the_last_time(int step, int number) {
        if (talk_ == nullptr) {
            facts_.last_step_of[number] = step;
            return;
        }
        const auto known = chunks_.find(number);
        if (known == chunks_.end() || talk_->told.last_step_of.at(number) != step) return;
        Chunk& chunk = known->second;
        if (chunk.staged) free_slot(chunk, *chunk.staged, step);
        chunk.staged.reset();
        if (!chunk.passes) return;
        free_slot(chunk, chunk.home, step);
        chunks_.erase(known);
    }

    // Pushed, or shown for the peer to fetch.
    void send_out(int step, const RankTransfer& send) {
        const auto peer = static_cast<std::size_t>(send.peer.index);
        Chunk& sent = chunk(send.chunk);
        if (send.action == Action::copy) {
            const std::size_t number = copies_to_[peer]++;
            if (talk_ == nullptr) {
                facts_.havings[peer].push_back({sent.computed_in, sent.is_input, sending_});
            } else {
                const auto& offer = talk_->heard.offers[peer][number];
                const auto& having = talk_->told.havings[peer][number];
                if (const auto when = PushFacts::push_step(having, offer, step))
                    return push(step, send, *when, offer);
            }
        }
        show(step, send, sent);
    }

    void push(int step, const RankTransfer& send, int when, const PushFacts::Offer& offer) {
        const Target target{send.peer, offer.place, step};
        const Dependency until_free{send.peer, offer.last_use + 1};
        Chunk& sent = chunk(send.chunk);
        if (when < step) {
            DirectStep& computing = program_.steps[sent.written_by->step];
            computing.moves[sent.written_by->move].targets.push_back(target);
            computing.dependencies.push_back(until_free);
        } else {
            dependencies().push_back(until_free);
            moves().push_back({{target},
                               {own(step, send.chunk)},
                               layout_.bytes_of(send.chunk),
                               /*is_final=*/true});
        }
    }

    void show(int step, const RankTransfer& send, Chunk& shown) {
        const bool in_place = peers_read(shown.current);
        if (!in_place && !shown.staged) stage(send.chunk, shown);
        const Place place = in_place ? shown.current : *shown.staged;
        program_.shown[static_cast<std::size_t>(send.peer.index)].push_back(place);
        shown.readers.push_back({place, send.peer, step});
        if (in_place) shown.read_in_step = step;
        is_read(shown);
        auto& last = last_read_by_[send.peer.index];
        last = std::max(last, step + 1);
    }

    // Copies a chunk to where peers can read it, before the current step: in the pass that computes
    // it, or else after the step before.
    void stage(int number, Chunk& chunk) {
        const std::size_t step = chunk.written_by             ? chunk.written_by->step
                                 : program_.steps.size() == 1 ? prologue
                                                              : program_.steps.size() - 2;
        chunk.staged = take_slot(step);
        const Target target{std::nullopt, *chunk.staged};
        if (chunk.written_by) {
            program_.steps[step].moves[chunk.written_by->move].targets.push_back(target);
            return;
        }
        auto& moves = step == prologue ? program_.prologue : program_.steps[step].moves;
        moves.push_back({{target}, {{std::nullopt, chunk.current}}, layout_.bytes_of(number)});
        // What also belongs in the result goes there in the same pass.
        if (chunk.passes || chunk.current == chunk.home || reduces(request_.call.collective))
            return;
        moves.back().targets.push_back({std::nullopt, chunk.home});
        chunk.current = chunk.home;
    }

    void is_read(const Chunk& chunk) {
        if (chunk.written_by)
            program_.steps[chunk.written_by->step].moves[chunk.written_by->move].is_final = false;
    }

    // Whether the peer pushes what arrives here. Then there is nothing to do but to know when.
    bool lands(int step, const RankTransfer& receive, int receives_of_chunk,
               std::vector<Dependency>& landings) {
        if (receive.action != Action::copy || receive.peer == me_) return false;
        const auto peer = static_cast<std::size_t>(receive.peer.index);
        const std::size_t number = copies_from_[peer]++;
        if (talk_ == nullptr) {
            facts_.offers[peer].push_back(offer_for(receive, receives_of_chunk));
            return false;
        }
        const auto when = PushFacts::push_step(talk_->heard.havings[peer][number],
                                               talk_->told.offers[peer][number], step);
        if (!when) return false;
        (*when < step ? dependencies() : landings).push_back({receive.peer, *when + 1});
        Chunk& landed = chunk(receive.chunk);
        leave(step, landed, landed.home);
        landed.last_use_of_home = step;
        return true;
    }

    // The value is now another one, at another place.
    void leave(int step, Chunk& chunk, Place place) {
        is_read(chunk);  // no longer final, as more is written there
        std::erase_if(chunk.readers, [&](const Reader& r) { return r.place == place; });
        if (chunk.staged) free_slot(chunk, *chunk.staged, step);
        chunk.staged.reset();
        chunk.current = place;
        chunk.is_input = false;
        chunk.computed_in.reset();
        chunk.written_by.reset();
    }

    PushFacts::Offer offer_for(const RankTransfer& receive, int receives_of_chunk) {
        const Chunk& wanted = chunk(receive.chunk);
        PushFacts::Offer offer{
            .is_open = buffers_.peers_write && receives_of_chunk == 1 && !wanted.passes,
            .load = arriving_};
        offer.place = wanted.home;
        offer.last_use = wanted.last_use_of_home;
        for (const Reader& reader : wanted.readers) {
            if (reader.place != wanted.home) continue;
            if (reader.peer != receive.peer) offer.is_open = false;
            offer.last_read_by_sender = std::max(offer.last_read_by_sender, reader.step);
        }
        return offer;
    }

    DirectSource own(int step, int number) {
        Chunk& read = chunk(number);
        if (read.current == read.home) read.last_use_of_home = step;
        is_read(read);
        return {std::nullopt, read.current};
    }
    DirectSource next_shown_by(Rank peer) { return {peer, {}, seen_of_[peer.index]++}; }

    void write(int step, int number, std::size_t move_number) {
        DirectMove& move = moves()[move_number];
        Chunk& written = chunk(number);
        const Place target = free_place(step, number, written);
        wait_for_readers(written, target);
        leave(step, written, target);
        move.targets.push_back({std::nullopt, target});
        if (target == written.home) written.last_use_of_home = step;
        if (move.sources.size() > 1) written.computed_in = step;
        written.written_by = MoveIndex{program_.steps.size() - 1, move_number};
        move.is_final = target == written.home && !written.passes;
    }

    // Home, unless peers read there in this very step: then the value moves beside it.
    Place free_place(int step, int number, Chunk& chunk) {
        if (chunk.read_in_step != step || chunk.current != chunk.home) return chunk.home;
        if (!chunk.alternate) chunk.alternate = take(layout_.bytes_of(number));
        return *chunk.alternate;
    }

    void wait_for_readers(Chunk& chunk, Place target) {
        std::erase_if(chunk.readers, [&](const Reader& reader) {
            if (reader.place != target) return false;
            dependencies().push_back({reader.peer, reader.step + 1});
            return true;
        });
    }

    // Results that are not where they belong are copied there: at once if nobody reads that place,
    // else after the last reader.
    void settle() {
        for_each_output_chunk(spec_, me_, request_.schedule.chunks(), [&](int number) {
            const std::size_t bytes = layout_.bytes_of(number);
            if (bytes == 0) return;
            const Chunk& result = chunk(number);
            if (result.current == result.home) return;
            is_read(result);
            const bool is_read_there =
                std::any_of(result.readers.begin(), result.readers.end(),
                            [&](const Reader& r) { return r.place == result.home; });
            auto& moves = is_read_there ? program_.settling_late : program_.settling_early;
            moves.push_back({{{std::nullopt, result.home}},
                             {{std::nullopt, result.current}},
                             bytes,
                             /*is_final=*/true});
        });
        for (const auto& [peer, steps] : last_read_by_)
            program_.last_readers.push_back({Rank{peer}, steps});
    }

    // Counters only grow, so a dependency that an earlier one covers is left out.
    void leave_out_covered_needs() {
        std::vector<int> waited_for(ranks(), -1);
        const auto leave_out = [&](std::vector<Dependency>& dependencies) {
            std::sort(dependencies.begin(), dependencies.end(),
                      [](const Dependency& a, const Dependency& b) {
                          return a.steps != b.steps ? a.steps > b.steps
                                                    : a.peer.index < b.peer.index;
                      });
            std::erase_if(dependencies, [&](const Dependency& one) {
                int& waited = waited_for[static_cast<std::size_t>(one.peer.index)];
                if (one.steps <= waited) return true;
                waited = one.steps;
                return false;
            });
        };
        for (DirectStep& step : program_.steps) leave_out(step.dependencies);
        leave_out(program_.last_readers);
    }

    const PlanRequest& request_;
    Rank me_;
    CollectiveSpec spec_;
    Layout layout_;
    const PushNegotiation* talk_;
    Buffers buffers_;
    std::size_t slot_bytes_;
    DirectProgram program_;
    PushFacts facts_;
    std::deque<Slot> free_slots_;     // the longest unused first
    int own_copies_ = 0;              // chunks that go from its own input to its own output
    int arriving_ = 0, sending_ = 0;  // load of the step, without and with what it sends
    std::vector<std::size_t> copies_to_, copies_from_;  // by peer: transfers so far
    std::unordered_map<int, Chunk> chunks_;
    std::unordered_map<int, std::uint32_t> seen_of_;  // by peer: things it has shown so far
    std::unordered_map<int, int> last_read_by_;       // by peer: steps it must finish
};

}  // namespace

PushFacts push_facts(const PlanRequest& request, Rank me, const Buffers& buffers) {
    Compiler compiler(request, me, buffers, nullptr);
    compiler.compile();
    return compiler.take_facts();
}

DirectProgram compile_direct(const PlanRequest& request, Rank me, const Buffers& buffers,
                             const PushNegotiation& talk) {
    Compiler compiler(request, me, buffers, &talk);
    compiler.compile();
    return compiler.take_program();
}

}  // namespace tutti
