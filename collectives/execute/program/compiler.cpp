// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/index.hpp"
#include "collectives/execute/program/chunk_memory.hpp"
#include "collectives/execute/program/program.hpp"
#include "collectives/execute/program/pushes.hpp"

namespace tutti {
namespace {

// How peers can access the caller's buffers; the same on all ranks.
struct BufferAccess {
    /// Whether peers read there (registered memory, or through the kernel). If not, data for them
    /// is first copied into the plan's memory.
    bool peers_read = true;
    bool peers_write = true;  ///< Whether peers may store results there.
    /// Whether the kernel copies between processes, at the same cost for the rank that reads and
    /// for the rank that writes.
    bool by_kernel = false;
};

BufferAccess access_of(TransferMethod method) {
    using enum TransferMethod;
    return {.peers_read = method != copy_in_copy_out,
            .peers_write = method != copy_in_copy_out,
            .by_kernel = method == single_copy};
}

// Removes each dependency that an earlier wait has already met: counters only grow.
void leave_out_implied_dependencies(RankProgram& program) {
    std::vector<int> waited_for(program.published.size(), -1);
    const auto leave_out = [&](std::vector<Dependency>& dependencies) {
        std::ranges::sort(dependencies, [](const Dependency& a, const Dependency& b) {
            return a.steps != b.steps ? a.steps > b.steps : a.peer.index < b.peer.index;
        });
        std::erase_if(dependencies, [&](const Dependency& one) {
            int& waited = at(waited_for, one.peer);
            if (one.steps <= waited) return true;
            waited = one.steps;
            return false;
        });
    };
    for (ProgramStep& step : program.steps) {
        leave_out(step.before_messages);
        leave_out(step.dependencies);
    }
    leave_out(program.last_readers);
}

// In the last step, ranks that also receive push at most this many bytes through the kernel. The
// limit is for the longest call of the plan, whose blocks have a power of two of bytes. Compared
// with reading, between two ranks: an all-gather of freshly written blocks of 128 KiB to 2 MiB
// takes 0.6 to 0.75 of the time, one of untouched blocks as long. With untouched blocks of 8 MiB in
// place, pushing takes 1.5 times as long.
constexpr std::size_t most_pushed_by_all = 2 << 20;

// For blocks of up to this size that peers store in the last step, a rank has one more step, in
// which it waits for them, instead of at the end of the last step. The limit is for the longest
// call of the plan. Between two ranks, a gather of registered blocks of 1 and 2 KiB takes 0.77 of
// the time, one of 4 KiB blocks 1.06 to 1.2, and one of 128 KiB blocks 1.8.
constexpr std::size_t most_awaited_apart = 2 << 10;

bool is_of_peer(const MovePlace& end) { return end.peer.has_value(); }

bool writes_to_peer(const ProgramStep& step) {
    return std::ranges::any_of(step.moves, [](const ChunkMove& move) {
        return std::ranges::any_of(move.targets, is_of_peer);
    });
}

// Determines for each step whether it keeps its results, in a program whose ranks copy through the
// kernel. Requires that `last_readers` is still complete.
void mark_kept_results(RankProgram& program) {
    int last_access = 0;  // one more than the step
    for (const Dependency& reader : program.last_readers)
        last_access = std::max(last_access, reader.steps);
    // If there are several peers, some may hold their parts in their plans' memory, which is read
    // while all parts are added.
    for (ProgramStep& step : program.steps)
        step.keeps_results = step.number + 1 >= last_access && !writes_to_peer(step) &&
                             std::ranges::all_of(step.moves, [&](const ChunkMove& move) {
                                 return std::ranges::count_if(move.sources, is_of_peer) <= 1;
                             });
}

// One lane of one rank, and its steps, which are read from the schedule once. They name a chunk by
// its index in `chunks`, so that what is known of chunks is found without a search.
struct Task {
    Task(const PlanRequest& its_request, Rank its_rank, int its_lane,
         std::vector<RankStep> its_steps);

    const PlanRequest& request;
    Rank me;
    CollectiveSpec spec;
    std::vector<RankStep> steps;
    std::vector<int> chunks;  // first those of the output, in its order, then others
    int outputs;
};

Task::Task(const PlanRequest& its_request, Rank its_rank, int its_lane,
           std::vector<RankStep> its_steps)
    : request(its_request),
      me(its_rank),
      spec(request.call.collective, request.schedule.ranks(), request.call.root),
      steps(std::move(its_steps)) {
    std::unordered_map<int, int> index_of;
    const auto index = [&](int chunk) {
        const auto [known, is_new] = index_of.try_emplace(chunk, int_size(chunks));
        if (is_new) chunks.push_back(chunk);
        return known->second;
    };
    for_each_output_chunk(spec, me, request.schedule.chunks(), [&](int chunk) {
        if (request.lanes.lane_of(chunk) == its_lane) index(chunk);
    });
    outputs = int_size(chunks);
    for (RankStep& step : steps)
        for (auto* transfers : {&step.sends, &step.receives})
            for (RankTransfer& transfer : *transfers) transfer.chunk = index(transfer.chunk);
}

// How a step uses a chunk.
struct Traffic {
    int receives = 0;
    bool is_sent = false;
    std::optional<std::size_t> move = {};  // that writes it
};

struct ChunkState {
    std::optional<Chunk> known = {};  // nothing before its first use
    int last_step = -1;               // that transfers it
    bool is_for_peers = false;        // peers read it, or get it in their memory
    Traffic traffic = {};             // the current step uses it so
};

// Groups the chosen transfers by peer, as indices; peers and transfers keep their order.
template <class Choose>
std::vector<std::vector<std::size_t>> by_peer(const std::vector<RankTransfer>& transfers,
                                              const Choose& choose) {
    std::vector<std::vector<std::size_t>> grouped;
    std::unordered_map<int, std::size_t> group_of;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        if (!choose(transfers[i])) continue;
        const auto [known, is_new] = group_of.try_emplace(transfers[i].peer.index, grouped.size());
        if (is_new) grouped.emplace_back();
        grouped[known->second].push_back(i);
    }
    return grouped;
}

// Decides where chunks lie at each step and in which order they are moved and sent. Pushes decides
// which chunks are pushed instead of read.
class Compiler {
public:
    Compiler(const Task& task, Pushes& pushes)
        : task_(task),
          call_(task.request.call),
          spec_(task.spec),
          positions_(spec_, task.me, task.request.schedule.chunks()),
          pushes_(pushes),
          buffers_(access_of(task.request.method)),
          chunks_(task.chunks.size()) {
        if (task.request.buffers.in_place) {
            input_ = {ChunkPlace::In::output, positions_.first_input_in_place()};
            output_.number = positions_.first_output_in_place();
        }
        program_.published.resize(as_size(spec_.ranks()));
        copy_input_in_place();
        if (!spec_.reduces()) count_own_copies();
        for (const RankStep& step : task.steps) {
            for (const auto* transfers : {&step.sends, &step.receives})
                for (const RankTransfer& transfer : *transfers)
                    state_of(transfer.chunk).last_step = step.number;
            for (const RankTransfer& send : step.sends)
                if (!is_message(send)) state_of(send.chunk).is_for_peers = true;
        }
    }

    RankProgram compile() {
        // If ranks ran ahead, a run could end before the last pushes arrive, see last_readers.
        assert(task_.request.runs_ahead == 0 || !buffers_.peers_write);
        for (const RankStep& step : task_.steps) add(step);
        settle();
        if (buffers_.by_kernel) mark_kept_results(program_);
        leave_out_implied_dependencies(program_);
        program_.slots = slots_.count();
        return std::move(program_);
    }

private:
    // In place, an exchange's input and output chunks overlap crosswise, so it reads from a copy.
    void copy_input_in_place() {
        if (!spec_.exchanges() || !task_.request.buffers.in_place || positions_.inputs() == 0)
            return;
        // Another lane could write the output, which is the input, before this lane has its copy.
        assert(task_.request.lanes.count == 1);
        const ChunkPlace copy{ChunkPlace::In::copy_of_input};
        for (int chunk = 0; chunk < task_.request.schedule.chunks(); ++chunk)
            if (const auto position = positions_.in_input(chunk))
                program_.prologue.push_back({{{std::nullopt, copy.after(*position)}},
                                             {{std::nullopt, input_.after(*position)}},
                                             chunk});
        program_.copies_input = true;
        input_ = copy;
    }

    bool is_message(const RankTransfer& transfer) const {
        return transfer.peer != task_.me && task_.request.sends_messages(task_.me, transfer.peer);
    }

    std::vector<std::vector<std::size_t>> message_groups(
        const std::vector<RankTransfer>& transfers) const {
        return by_peer(transfers,
                       [this](const RankTransfer& transfer) { return is_message(transfer); });
    }

    void count_own_copies() {
        for (int index = 0; index < task_.outputs; ++index) {
            const int number = number_of(index);
            const auto from = positions_.in_input(number);
            if (from && input_.after(*from) != output_.after(*positions_.in_output(number)))
                ++own_copies_;
        }
    }

    std::vector<Dependency>& dependencies() { return program_.steps.back().dependencies; }
    std::vector<ChunkMove>& moves() { return program_.steps.back().moves; }

    // The chunks of a transfer wait for the same.
    void depend_on(const Dependency& needed) {
        if (dependencies().empty() || dependencies().back() != needed)
            dependencies().push_back(needed);
    }

    bool peers_read(ChunkPlace place) const { return !place.is_of_caller() || buffers_.peers_read; }

    // Returns a slot that step index `user` (or the prologue) may write.
    ChunkPlace take_slot(std::size_t user) {
        if (user == prologue) return slots_.take(-1, no_dependencies_);
        ProgramStep& step = program_.steps[user];
        return slots_.take(step.number, step.dependencies);
    }

    ChunkState& state_of(int index) { return at(chunks_, index); }
    int number_of(int index) const { return at(task_.chunks, index); }

    Chunk& chunk(int index) {
        ChunkState& state = state_of(index);
        if (state.known) return *state.known;
        Chunk& chunk = state.known.emplace();
        const int number = number_of(index);
        const auto in_output = positions_.in_output(number);
        const auto in_input = positions_.in_input(number);
        chunk.is_in_transit = !in_output;
        chunk.destination = in_output            ? output_.after(*in_output)
                            : state.is_for_peers ? take_slot(program_.steps.size() - 1)
                                                 : next_in_transit(number);
        chunk.current = in_input ? input_.after(*in_input) : chunk.destination;
        chunk.is_input = in_input.has_value();
        return chunk;
    }

    // Neither peers nor other steps use this memory for something else.
    ChunkPlace next_in_transit(int number) {
        program_.transit.push_back(number);
        return {ChunkPlace::In::transit, int_size(program_.transit) - 1};
    }

    void add(const RankStep& step) {
        program_.steps.emplace_back(ProgramStep{step.number});
        count_loads(step);
        for (const RankTransfer& send : step.sends)
            if (!is_message(send)) add_send(step.number, send);
        add_messages_to_send(step);

        count_traffic(step);
        const auto arrives_at = add_messages_to_receive(step);
        std::vector<Dependency> pushes_in_step;
        std::vector<std::pair<int, std::size_t>> written;  // chunk, move
        for (std::size_t i = 0; i < step.receives.size(); ++i) {
            const RankTransfer& receive = step.receives[i];
            const bool is_message = this->is_message(receive);
            if (is_message && !arrives_at[i]) continue;
            if (is_pushed_here(step.number, receive, pushes_in_step)) continue;
            if (receive.peer != task_.me && !is_message) depend_on({receive.peer, step.number});
            auto& move = state_of(receive.chunk).traffic.move;
            if (!move) {
                move = moves().size();
                written.emplace_back(receive.chunk, *move);
                moves().push_back({{}, {}, number_of(receive.chunk)});
                if (receive.action == Action::reduce)
                    moves().back().sources.push_back(read_own(step.number, receive.chunk));
            }
            moves()[*move].sources.push_back(is_message ? MovePlace{std::nullopt, *arrives_at[i]}
                                             : receive.peer == task_.me
                                                 ? read_own(step.number, receive.chunk)
                                                 : next_published_by(receive.peer));
        }
        // Only now may values move: the whole step reads the values held before it.
        for (const auto& [index, move] : written) write(step.number, index, move);
        for (const auto* transfers : {&step.sends, &step.receives})
            for (const RankTransfer& transfer : *transfers)
                if (state_of(transfer.chunk).last_step == step.number)
                    free_memory_of(transfer.chunk, step.number);
        moves().shrink_to_fit();
        if (is_last(step) && !awaits_pushes_apart())  // no rank reads what arrives now
            program_.last_readers = std::move(pushes_in_step);
        else if (!pushes_in_step.empty())
            program_.steps.push_back(
                {.number = step.number, .dependencies = std::move(pushes_in_step)});
    }

    // A rank that receives nothing shares the kernel's copies with the rank that reads from it.
    // Each chunk that it sends adds 2 to its load: pushing it costs one copy more here and one less
    // at the reader. With several readers, mainly the first one gains. In the last step, all ranks
    // push if their blocks fit in the caches, where their own input may still be. They do not if
    // the plan's memory holds a copy of the input, which peers can read without the kernel. No rank
    // pushes in a step in which it sends messages: the push would wait for them.
    void count_loads(const RankStep& step) {
        load_receiving_ = own_copies_ + int_size(step.receives);
        load_sending_ = load_receiving_ + int_size(step.sends);
        load_of_push_ = 0;
        const auto is_sent = [this](const RankTransfer& send) { return is_message(send); };
        if (!buffers_.by_kernel || std::ranges::any_of(step.sends, is_sent)) return;
        if (step.receives.empty()) {
            load_sending_ = own_copies_ - 1;
            load_of_push_ = 2;
        } else if (is_last(step) && !program_.copies_input &&
                   step.sends.size() * bytes_of_block(call_) <= most_pushed_by_all) {
            load_sending_ = own_copies_ + int_size(step.sends) - 1;
        }
    }

    // Whether a rank waits in a step of its own for short blocks that peers store in the last step,
    // instead of at the end of that step.
    bool awaits_pushes_apart() const {
        return !buffers_.by_kernel && bytes_of_block(call_) <= most_awaited_apart;
    }

    bool is_last(const RankStep& step) const {
        return step.number + 1 == task_.request.schedule.steps();
    }

    void count_traffic(const RankStep& step) {
        for (const auto* transfers : {&step.sends, &step.receives})
            for (const RankTransfer& transfer : *transfers) state_of(transfer.chunk).traffic = {};
        for (const RankTransfer& send : step.sends) state_of(send.chunk).traffic.is_sent = true;
        for (const RankTransfer& receive : step.receives)
            ++state_of(receive.chunk).traffic.receives;
    }

    // A message is a reader that ends within its step.
    void add_messages_to_send(const RankStep& step) {
        for (const auto& group : message_groups(step.sends)) {
            ChunkMessage message{step.sends[group.front()].peer};
            for (const std::size_t i : group) {
                const int index = step.sends[i].chunk;
                message.parts.push_back({number_of(index), read_own(step.number, index).place});
            }
            program_.steps.back().sends.push_back(std::move(message));
        }
    }

    // Returns, by receive, the place in the inbox where its message arrives; nothing if it arrives
    // at its destination, or is none.
    std::vector<std::optional<ChunkPlace>> add_messages_to_receive(const RankStep& step) {
        std::vector<std::optional<ChunkPlace>> arrives_at(step.receives.size());
        int in_inbox = 0;
        for (const auto& group : message_groups(step.receives)) {
            ChunkMessage message{step.receives[group.front()].peer};
            for (const std::size_t i : group) {
                const int index = step.receives[i].chunk;
                message.parts.push_back({number_of(index), chunk(index).destination});
            }
            if (can_arrive_at_destination(step, group) && message.is_in_one_piece()) {
                for (const std::size_t i : group)
                    arrive_at_destination(step.number, chunk(step.receives[i].chunk));
            } else {
                for (std::size_t i = 0; i < group.size(); ++i) {
                    message.parts[i].place = {ChunkPlace::In::inbox, in_inbox++};
                    arrives_at[group[i]] = message.parts[i].place;
                }
            }
            program_.steps.back().receives.push_back(std::move(message));
        }
        return arrives_at;
    }

    // A message can if it only brings copies, nothing else arrives there, and the old values are
    // not being sent or read there in this step. A slot may still have readers of another chunk.
    bool can_arrive_at_destination(const RankStep& step, const std::vector<std::size_t>& group) {
        return std::ranges::all_of(group, [&](std::size_t i) {
            const RankTransfer& receive = step.receives[i];
            const Traffic& of_chunk = state_of(receive.chunk).traffic;
            const Chunk& received = chunk(receive.chunk);
            return receive.action == Action::copy && of_chunk.receives == 1 &&
                   received.destination.in != ChunkPlace::In::slot &&
                   !(of_chunk.is_sent && received.current == received.destination);
        });
    }

    // Readers in earlier steps must have finished before the message may arrive.
    void arrive_at_destination(int step, Chunk& received) {
        wait_for_readers(received, received.destination, program_.steps.back().before_messages);
        leave(step, received, received.destination);
        received.last_use_of_destination = step;
    }

    // Frees the slots of a chunk after its last use.
    void free_memory_of(int index, int step) {
        std::optional<Chunk>& known = state_of(index).known;
        if (!known) return;
        Chunk& chunk = *known;
        if (chunk.readable) slots_.free(*chunk.readable, chunk.readers, step);
        chunk.readable.reset();
        if (chunk.destination.in != ChunkPlace::In::slot) return;
        slots_.free(chunk.destination, chunk.readers, step);
        known.reset();
    }

    // Pushes the chunk, or publishes it for the peer to read.
    void add_send(int step, const RankTransfer& send) {
        Chunk& sent = chunk(send.chunk);
        load_sending_ += load_of_push_;
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
            depend_on(until_free);
            moves().push_back({{target},
                               {read_own(step, send.chunk)},
                               number_of(send.chunk),
                               /*is_final=*/true});
        }
    }

    void publish(int step, const RankTransfer& send, Chunk& sent) {
        const bool in_place = peers_read(sent.current);
        if (!in_place && !sent.readable) make_readable(number_of(send.chunk), sent);
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
    bool is_pushed_here(int step, const RankTransfer& receive,
                        std::vector<Dependency>& pushes_in_step) {
        if (receive.action != Action::copy || receive.peer == task_.me || is_message(receive))
            return false;
        Chunk& received = chunk(receive.chunk);
        const int receives = state_of(receive.chunk).traffic.receives;
        const auto when =
            pushes_.from(receive.peer, step, receiver_terms(received, receive.peer, receives));
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

    MovePlace read_own(int step, int index) {
        Chunk& read = chunk(index);
        if (read.current == read.destination) read.last_use_of_destination = step;
        is_read(read);
        return {std::nullopt, read.current};
    }
    MovePlace next_published_by(Rank peer) {
        return {peer, {ChunkPlace::In::published, read_of_[peer.index]++}};
    }

    void write(int step, int index, std::size_t move_number) {
        ChunkMove& move = moves()[move_number];
        Chunk& written = chunk(index);
        const ChunkPlace target = free_place(step, written);
        wait_for_readers(written, target, dependencies());
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

    static void wait_for_readers(Chunk& chunk, ChunkPlace target,
                                 std::vector<Dependency>& dependencies) {
        std::erase_if(chunk.readers, [&](const Reader& reader) {
            if (reader.place != target) return false;
            dependencies.push_back({reader.peer, reader.step + 1});
            return true;
        });
    }

    // Copies results that are not at their destination there: at once if no rank reads that place,
    // else after the last reader. Copies within the rank come first, while the data may still be in
    // the rank's own cache; but not where peers wait for data that the rank writes to them.
    void settle() {
        std::vector<ChunkMove> own;
        const bool peers_only_read =
            buffers_.by_kernel && std::ranges::none_of(program_.steps, writes_to_peer);
        for (int index = 0; index < task_.outputs; ++index) {
            const Chunk& result = chunk(index);
            if (result.current == result.destination) continue;
            is_read(result);
            const bool is_read_there = std::ranges::any_of(
                result.readers,
                [&](const Reader& reader) { return reader.place == result.destination; });
            auto& moves = result.is_input && peers_only_read ? own
                          : is_read_there                    ? program_.settling_late
                                                             : program_.settling_early;
            moves.push_back({{{std::nullopt, result.destination}},
                             {{std::nullopt, result.current}},
                             number_of(index),
                             /*is_final=*/true});
        }
        for (const auto& [peer, steps] : last_read_by_)
            program_.last_readers.push_back({Rank{peer}, steps});
        if (own.empty()) return;
        const int first = program_.steps.empty() ? 0 : program_.steps.front().number;
        program_.steps.insert(program_.steps.begin(), {.number = first, .moves = std::move(own)});
    }

    const Task& task_;
    const Call& call_;
    const CollectiveSpec& spec_;
    Positions positions_;
    Pushes& pushes_;
    BufferAccess buffers_;
    ChunkPlace input_{ChunkPlace::In::input}, output_{ChunkPlace::In::output};
    RankProgram program_;
    Slots slots_;
    std::vector<Dependency> no_dependencies_;  // the prologue has only new slots
    int own_copies_ = 0;                       // chunks copied from its own input to its own output
    // Loads of this rank in the step, which are compared with those of its peers.
    int load_receiving_ = 0, load_sending_ = 0, load_of_push_ = 0;
    std::vector<ChunkState> chunks_;             // by index
    std::unordered_map<int, int> read_of_;       // by peer: published places read so far
    std::unordered_map<int, int> last_read_by_;  // by peer: steps it must finish
};

// Returns the rank's tasks, one for each lane: splits each step into the parts of the lanes, and
// leaves out empty ones.
std::vector<Task> tasks_of(const PlanRequest& request, Rank rank) {
    const Lanes& lanes = request.lanes;
    std::vector<std::vector<RankStep>> steps(as_size(lanes.count));
    if (lanes.count == 1) {
        steps.front() = rank_steps(request, rank);
    } else {
        for (const RankStep& step : rank_steps(request, rank)) {
            for (auto& of_lane : steps) of_lane.push_back({.number = step.number});
            for (const RankTransfer& send : step.sends)
                at(steps, lanes.lane_of(send.chunk)).back().sends.push_back(send);
            for (const RankTransfer& receive : step.receives)
                at(steps, lanes.lane_of(receive.chunk)).back().receives.push_back(receive);
            for (auto& of_lane : steps)
                if (of_lane.back().is_empty()) of_lane.pop_back();
        }
    }
    std::vector<Task> tasks;
    for (auto& of_lane : steps)
        tasks.emplace_back(request, rank, int_size(tasks), std::move(of_lane));
    return tasks;
}

using Transfers = std::vector<RankTransfer> RankStep::*;

// Returns the peers of these transfers that are reached by memory.
std::set<Rank> peers_by_memory(const Task& task, std::initializer_list<Transfers> of_interest) {
    std::set<Rank> peers;
    for (const RankStep& step : task.steps)
        for (const Transfers transfers : of_interest)
            for (const RankTransfer& transfer : step.*transfers)
                if (transfer.peer != task.me &&
                    !task.request.sends_messages(task.me, transfer.peer))
                    peers.insert(transfer.peer);
    return peers;
}

// Compiles programs of several ranks, each when it is first needed. It keeps only what ranks tell
// each other, because tasks and programs take much more memory.
class Compilation {
public:
    explicit Compilation(const PlanRequest& request) : request_(request) {}

    // Returns the programs of a rank's tasks, with places that peers publish.
    std::vector<RankProgram> programs_of(Rank rank, const std::vector<Task>& tasks) {
        std::vector<RankProgram> programs;
        for (const Task& task : tasks) {
            const std::size_t lane = programs.size();
            AgreedPushes pushes;
            for (const Rank peer : peers_by_memory(task, {&RankStep::sends, &RankStep::receives})) {
                const PushTerms& own = terms_of(rank, tasks)[lane];
                pushes.agree(peer, own.for_peer(peer), terms_of(peer)[lane].for_peer(rank));
            }
            programs.push_back(Compiler(task, pushes).compile());
        }
        return programs;
    }

    // Returns the places that a rank publishes for another one, by lane.
    const std::vector<SteppedList<ChunkPlace>>& published(Rank by, Rank reader) {
        const auto [known, is_new] = published_.try_emplace({by, reader});
        if (is_new)
            for (const RankProgram& program : programs_of(by, tasks_of(request_, by))) {
                auto& places = known->second.emplace_back();
                for (const ChunkPlace place : at(program.published, reader))
                    places.push_back(place);
            }
        return known->second;
    }

private:
    // Returns the terms by lane.
    const std::vector<PushTerms>& terms_of(Rank rank) {
        const auto known = terms_.find(rank);
        return known == terms_.end() ? terms_of(rank, tasks_of(request_, rank)) : known->second;
    }
    const std::vector<PushTerms>& terms_of(Rank rank, const std::vector<Task>& tasks) {
        const auto [known, is_new] = terms_.try_emplace(rank);
        for (std::size_t lane = 0; is_new && lane < tasks.size(); ++lane) {
            ProposedPushes pushes;
            Compiler(tasks[lane], pushes).compile();
            known->second.push_back(pushes.take_terms());
        }
        return known->second;
    }

    const PlanRequest& request_;
    std::map<Rank, std::vector<PushTerms>> terms_;
    std::map<std::pair<Rank, Rank>, std::vector<SteppedList<ChunkPlace>>> published_;
};

}  // namespace

std::vector<RankProgram> compile(const PlanRequest& request, Rank me) {
    const std::vector<Task> tasks = tasks_of(request, me);
    Compilation all(request);
    // Peers' programs come first, because two programs at the same time take twice the memory.
    for (const Task& task : tasks)
        for (const Rank peer : peers_by_memory(task, {&RankStep::receives}))
            all.published(peer, me);
    std::vector<RankProgram> programs = all.programs_of(me, tasks);
    for (std::size_t lane = 0; lane < programs.size(); ++lane)
        for (ProgramStep& step : programs[lane].steps)
            for (ChunkMove& move : step.moves)
                for (MovePlace& source : move.sources)
                    if (source.place.in == ChunkPlace::In::published)
                        source.place =
                            all.published(*source.peer, me)[lane][as_size(source.place.number)];
    return programs;
}

}  // namespace tutti
