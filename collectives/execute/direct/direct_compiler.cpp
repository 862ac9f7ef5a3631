// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/index.hpp"
#include "collectives/execute/direct/chunk_memory.hpp"
#include "collectives/execute/direct/direct_program.hpp"

namespace tutti {
namespace {

// Decides where chunks lie at each step and in which order they are moved. Pushes decides which
// chunks are pushed instead of read.
class DirectCompiler {
public:
    DirectCompiler(const DirectTask& task, Pushes& pushes)
        : task_(task),
          call_(task.request.call),
          chunks_(task.request.schedule.chunks()),
          spec_(call_.collective, task.request.schedule.ranks(), call_.root),
          positions_(spec_, task.me, chunks_),
          pushes_(pushes),
          buffers_(task.buffers) {
        if (task.request.buffers.in_place) {
            input_ = {ChunkPlace::In::output, positions_.first_input_in_place()};
            output_.number = positions_.first_output_in_place();
        }
        program_.published.resize(as_size(spec_.ranks()));
        copy_input_in_place();
        if (!spec_.reduces()) count_own_copies();
        for (const RankStep& step : task.steps)
            for (const auto* transfers : {&step.sends, &step.receives})
                for (const RankTransfer& transfer : *transfers)
                    last_step_of_[transfer.chunk] = step.number;
    }

    DirectProgram compile() {
        for (const RankStep& step : task_.steps) add(step);
        settle();
        if (peers_only_read()) mark_kept_results(program_);
        leave_out_implied_dependencies(program_);
        program_.slots = slots_.count();
        return std::move(program_);
    }

private:
    // In place, an exchange's input and output chunks overlap crosswise, so it reads from a copy.
    void copy_input_in_place() {
        if (!spec_.exchanges() || !task_.request.buffers.in_place || positions_.inputs() == 0)
            return;
        const ChunkPlace copy{ChunkPlace::In::copy_of_input};
        for (int chunk = 0; chunk < chunks_; ++chunk)
            if (const auto position = positions_.in_input(chunk))
                program_.prologue.push_back({{{std::nullopt, after(copy, *position)}},
                                             {{std::nullopt, after(input_, *position)}},
                                             chunk});
        program_.copies_input = true;
        input_ = copy;
    }

    static ChunkPlace after(ChunkPlace place, int positions) {
        return {place.in, place.number + positions};
    }

    void count_own_copies() {
        for_each_output_chunk(spec_, task_.me, chunks_, [&](int number) {
            const auto from = positions_.in_input(number);
            if (from && after(input_, *from) != after(output_, *positions_.in_output(number)))
                ++own_copies_;
        });
    }

    std::vector<Dependency>& dependencies() { return program_.steps.back().dependencies; }
    std::vector<DirectMove>& moves() { return program_.steps.back().moves; }

    // Whether each rank only fetches: no rank writes to another one.
    bool peers_only_read() const { return buffers_.peers_read && !buffers_.peers_write; }
    bool peers_read(ChunkPlace place) const { return !place.is_of_caller() || buffers_.peers_read; }

    // Returns a slot that step index `user` (or the prologue) may write.
    ChunkPlace take_slot(std::size_t user) {
        if (user == prologue) return slots_.take(-1, no_dependencies_);
        DirectStep& step = program_.steps[user];
        return slots_.take(step.number, step.dependencies);
    }

    Chunk& chunk(int number) {
        const auto [known, is_new] = known_chunks_.try_emplace(number);
        Chunk& chunk = known->second;
        if (!is_new) return chunk;
        const auto in_output = positions_.in_output(number);
        const auto in_input = positions_.in_input(number);
        chunk.is_in_transit = !in_output;
        chunk.destination =
            in_output ? after(output_, *in_output) : take_slot(program_.steps.size() - 1);
        chunk.current = in_input ? after(input_, *in_input) : chunk.destination;
        chunk.is_input = in_input.has_value();
        return chunk;
    }

    void add(const RankStep& step) {
        program_.steps.emplace_back(DirectStep{step.number, {}, {}});
        load_receiving_ = own_copies_ + int_size(step.receives);
        load_sending_ = load_receiving_ + int_size(step.sends);
        for (const RankTransfer& send : step.sends) add_send(step.number, send);

        const auto traffic = traffic_of(step);
        std::vector<Dependency> pushes_in_step;
        std::vector<std::pair<int, std::size_t>> written;  // chunk, move
        std::unordered_map<int, std::size_t> move_of;
        for (const RankTransfer& receive : step.receives) {
            if (is_pushed_here(step.number, receive, traffic.at(receive.chunk).receives,
                               pushes_in_step))
                continue;
            if (receive.peer != task_.me) dependencies().push_back({receive.peer, step.number});
            const auto [known, is_new] = move_of.try_emplace(receive.chunk, moves().size());
            if (is_new) {
                written.emplace_back(receive.chunk, moves().size());
                moves().push_back({{}, {}, receive.chunk});
                if (receive.action == Action::reduce)
                    moves().back().sources.push_back(read_own(step.number, receive.chunk));
            }
            moves()[known->second].sources.push_back(receive.peer == task_.me
                                                         ? read_own(step.number, receive.chunk)
                                                         : next_published_by(receive.peer));
        }
        // Only now may values move: the whole step reads the values held before it.
        for (const auto& [chunk_number, move] : written) write(step.number, chunk_number, move);
        for (const auto* transfers : {&step.sends, &step.receives})
            for (const RankTransfer& transfer : *transfers)
                if (last_step_of_.at(transfer.chunk) == step.number)
                    free_memory_of(transfer.chunk, step.number);
        if (!pushes_in_step.empty())
            program_.steps.push_back(DirectStep{step.number, std::move(pushes_in_step), {}});
    }

    // Frees the slots of a chunk after its last use.
    void free_memory_of(int number, int step) {
        const auto known = known_chunks_.find(number);
        if (known == known_chunks_.end()) return;
        Chunk& chunk = known->second;
        if (chunk.readable) slots_.free(*chunk.readable, chunk.readers, step);
        chunk.readable.reset();
        if (!chunk.is_in_transit) return;
        slots_.free(chunk.destination, chunk.readers, step);
        known_chunks_.erase(known);
    }

    // Pushes the chunk, or publishes it for the peer to read.
    void add_send(int step, const RankTransfer& send) {
        Chunk& sent = chunk(send.chunk);
        if (send.action == Action::copy)
            if (const auto push_to = pushes_.to(send.peer, step,
                                                {.computed_in = sent.computed_in,
                                                 .from_input = sent.is_input,
                                                 .load = load_sending_}))
                return push(step, send, *push_to);
        publish(step, send, sent);
    }

    void push(int step, const RankTransfer& send, const Pushes::Push& agreed) {
        const MovePlace target{send.peer, agreed.place, step};
        const Dependency until_free{send.peer, agreed.last_use + 1};
        if (agreed.step < step) {
            const MoveIndex& computing = *chunk(send.chunk).written_by;
            program_.steps[computing.step].moves[computing.move].targets.push_back(target);
            program_.steps[computing.step].dependencies.push_back(until_free);
        } else {
            dependencies().push_back(until_free);
            moves().push_back({{target},
                               {read_own(step, send.chunk)},
                               send.chunk,
                               /*is_final=*/true});
        }
    }

    void publish(int step, const RankTransfer& send, Chunk& sent) {
        const bool in_place = peers_read(sent.current);
        if (!in_place && !sent.readable) make_readable(send.chunk, sent);
        const ChunkPlace place = in_place ? sent.current : *sent.readable;
        at(program_.published, send.peer).push_back(place);
        sent.readers.push_back({place, send.peer, step});
        if (in_place) sent.read_in_step = step;
        is_read(sent);
        int& last = last_read_by_[send.peer.index];
        last = std::max(last, step + 1);
    }

    // Copies a chunk to where peers can read it, before the current step: in the pass that computes
    // it, or else after the previous step.
    void make_readable(int number, Chunk& chunk) {
        const std::size_t step = chunk.written_by             ? chunk.written_by->step
                                 : program_.steps.size() == 1 ? prologue
                                                              : program_.steps.size() - 2;
        chunk.readable = take_slot(step);
        const MovePlace target{std::nullopt, *chunk.readable};
        if (chunk.written_by) {
            program_.steps[step].moves[chunk.written_by->move].targets.push_back(target);
            return;
        }
        auto& moves = step == prologue ? program_.prologue : program_.steps[step].moves;
        moves.push_back({{target}, {{std::nullopt, chunk.current}}, number});
        // Data that also belongs in the result is stored there in the same pass.
        if (chunk.is_in_transit || chunk.current == chunk.destination || spec_.reduces()) return;
        moves.back().targets.push_back({std::nullopt, chunk.destination});
        chunk.current = chunk.destination;
    }

    void is_read(const Chunk& chunk) {
        if (chunk.written_by)
            program_.steps[chunk.written_by->step].moves[chunk.written_by->move].is_final = false;
    }

    // Whether the sender pushes; then this rank only waits for the step in which it does.
    bool is_pushed_here(int step, const RankTransfer& receive, int receives_of_chunk,
                        std::vector<Dependency>& pushes_in_step) {
        if (receive.action != Action::copy || receive.peer == task_.me) return false;
        Chunk& received = chunk(receive.chunk);
        const auto when = pushes_.from(receive.peer, step,
                                       receiver_terms(received, receive.peer, receives_of_chunk));
        if (!when) return false;
        (*when < step ? dependencies() : pushes_in_step).push_back({receive.peer, *when + 1});
        leave(step, received, received.destination);
        received.last_use_of_destination = step;
        return true;
    }

    PushTerms::Receiver receiver_terms(const Chunk& chunk, Rank sender, int receives) const {
        PushTerms::Receiver terms{
            .is_open = buffers_.peers_write && receives == 1 && !chunk.is_in_transit,
            .place = chunk.destination,
            .last_use = chunk.last_use_of_destination,
            .load = load_receiving_};
        for (const Reader& reader : chunk.readers) {
            if (reader.place != chunk.destination) continue;
            if (reader.peer != sender) terms.is_open = false;
            terms.last_read_by_sender = std::max(terms.last_read_by_sender, reader.step);
        }
        return terms;
    }

    // Releases the places of the old value, after the chunk got a new value at another place.
    void leave(int step, Chunk& chunk, ChunkPlace place) {
        is_read(chunk);  // no longer final, because more is written there
        std::erase_if(chunk.readers, [&](const Reader& r) { return r.place == place; });
        if (chunk.readable) slots_.free(*chunk.readable, chunk.readers, step);
        chunk.readable.reset();
        chunk.current = place;
        chunk.is_input = false;
        chunk.computed_in.reset();
        chunk.written_by.reset();
    }

    MovePlace read_own(int step, int number) {
        Chunk& read = chunk(number);
        if (read.current == read.destination) read.last_use_of_destination = step;
        is_read(read);
        return {std::nullopt, read.current};
    }
    MovePlace next_published_by(Rank peer) {
        return {peer, {ChunkPlace::In::published, read_of_[peer.index]++}};
    }

    void write(int step, int number, std::size_t move_number) {
        DirectMove& move = moves()[move_number];
        Chunk& written = chunk(number);
        const ChunkPlace target = free_place(step, written);
        wait_for_readers(written, target);
        leave(step, written, target);
        move.targets.push_back({std::nullopt, target});
        if (target == written.destination) written.last_use_of_destination = step;
        if (move.sources.size() > 1) written.computed_in = step;
        written.written_by = MoveIndex{program_.steps.size() - 1, move_number};
        move.is_final = target == written.destination && !written.is_in_transit;
    }

    // Returns the destination, unless peers read there in this very step: then another place.
    ChunkPlace free_place(int step, Chunk& chunk) {
        if (chunk.read_in_step != step || chunk.current != chunk.destination)
            return chunk.destination;
        if (!chunk.alternate) chunk.alternate = slots_.take();
        return *chunk.alternate;
    }

    void wait_for_readers(Chunk& chunk, ChunkPlace target) {
        std::erase_if(chunk.readers, [&](const Reader& reader) {
            if (reader.place != target) return false;
            dependencies().push_back({reader.peer, reader.step + 1});
            return true;
        });
    }

    // Copies results that are not at their destination there: at once if no rank reads that place,
    // else after the last reader. Copies within the rank come first, while the data may still be in
    // the rank's own cache; but not where peers wait for data that the rank writes to them.
    void settle() {
        std::vector<DirectMove> own;
        for_each_output_chunk(spec_, task_.me, chunks_, [&](int number) {
            const Chunk& result = chunk(number);
            if (result.current == result.destination) return;
            is_read(result);
            const bool is_read_there = std::ranges::any_of(
                result.readers,
                [&](const Reader& reader) { return reader.place == result.destination; });
            auto& moves = result.is_input && peers_only_read() ? own
                          : is_read_there                      ? program_.settling_late
                                                               : program_.settling_early;
            moves.push_back({{{std::nullopt, result.destination}},
                             {{std::nullopt, result.current}},
                             number,
                             /*is_final=*/true});
        });
        for (const auto& [peer, steps] : last_read_by_)
            program_.last_readers.push_back({Rank{peer}, steps});
        if (own.empty()) return;
        const int first = program_.steps.empty() ? 0 : program_.steps.front().number;
        program_.steps.insert(program_.steps.begin(), DirectStep{first, {}, std::move(own)});
    }

    const DirectTask& task_;
    const Call& call_;
    int chunks_;
    CollectiveSpec spec_;
    Positions positions_;
    Pushes& pushes_;
    BufferAccess buffers_;
    ChunkPlace input_{ChunkPlace::In::input}, output_{ChunkPlace::In::output};
    DirectProgram program_;
    Slots slots_;
    std::vector<Dependency> no_dependencies_;  // the prologue has only new slots
    int own_copies_ = 0;                       // chunks copied from its own input to its own output
    int load_receiving_ = 0,
        load_sending_ = 0;                       // chunks to handle in the step
    std::unordered_map<int, int> last_step_of_;  // by chunk
    std::unordered_map<int, Chunk> known_chunks_;
    std::unordered_map<int, int> read_of_;       // by peer: published places read so far
    std::unordered_map<int, int> last_read_by_;  // by peer: steps it must finish
};

}  // namespace

PushTerms push_terms(const DirectTask& task) {
    ProposedPushes pushes(task.request.schedule.ranks());
    DirectCompiler(task, pushes).compile();
    return pushes.take_terms();
}

DirectProgram compile_direct(const DirectTask& task, const PushNegotiation& negotiation) {
    AgreedPushes pushes(negotiation);
    return DirectCompiler(task, pushes).compile();
}

namespace {

// Compiles programs of several ranks, each when it is first needed.
class Compilation {
public:
    Compilation(const PlanRequest& request, const BufferAccess& buffers)
        : request_(request), buffers_(buffers) {}

    const DirectProgram& program_of(Rank rank) {
        const auto known = programs_.find(rank);
        if (known != programs_.end()) return known->second;
        PushNegotiation negotiation{terms_of(rank), {}, {}};
        const auto ranks = as_size(request_.schedule.ranks());
        negotiation.senders.resize(ranks);
        negotiation.receivers.resize(ranks);
        for (const Rank peer : peers_of(rank)) {
            at(negotiation.senders, peer) = at(terms_of(peer).as_sender, rank);
            at(negotiation.receivers, peer) = at(terms_of(peer).as_receiver, rank);
        }
        return programs_.emplace(rank, compile_direct(task_of(rank), negotiation)).first->second;
    }

private:
    const DirectTask& task_of(Rank rank) {
        const auto known = tasks_.find(rank);
        if (known != tasks_.end()) return known->second;
        return tasks_.try_emplace(rank, request_, rank, buffers_).first->second;
    }

    const PushTerms& terms_of(Rank rank) {
        const auto known = terms_.find(rank);
        if (known != terms_.end()) return known->second;
        return terms_.emplace(rank, push_terms(task_of(rank))).first->second;
    }

    std::set<Rank> peers_of(Rank rank) {
        std::set<Rank> peers;
        for (const RankStep& step : task_of(rank).steps)
            for (const auto* transfers : {&step.sends, &step.receives})
                for (const RankTransfer& transfer : *transfers)
                    if (transfer.peer != rank) peers.insert(transfer.peer);
        return peers;
    }

    const PlanRequest& request_;
    BufferAccess buffers_;
    std::map<Rank, DirectTask> tasks_;
    std::map<Rank, PushTerms> terms_;
    std::map<Rank, DirectProgram> programs_;
};

}  // namespace

DirectProgram compile_direct(const PlanRequest& request, Rank me, const BufferAccess& buffers) {
    Compilation all(request, buffers);
    DirectProgram program = all.program_of(me);
    const auto find_published = [&](std::vector<DirectMove>& moves) {
        for (DirectMove& move : moves)
            for (MovePlace& source : move.sources)
                if (source.place.in == ChunkPlace::In::published)
                    source.place = at(all.program_of(*source.peer).published,
                                      me)[as_size(source.place.number)];
    };
    for (DirectStep& step : program.steps) find_published(step.moves);
    return program;
}

}  // namespace tutti
