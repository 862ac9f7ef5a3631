// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/json_writer.hpp"
#include "collectives/formats/format_writers.hpp"

// Copies are put into the receiver's memory, and reductions read the sender's memory. Signals
// between ranks say that memory is ready to be read, free to be written, or has been written or
// read.
namespace tutti {
namespace {

constexpr std::string_view plan_format = "an MSCCL++ plan";

// Limits of MSCCL++'s executor, and the most bytes that its 32-bit offsets can address.
constexpr int most_operations = 64, most_channels = 16, most_channels_per_operation = 8,
              most_semaphores = 16, alignment = 16;
constexpr std::int64_t most_bytes = (std::int64_t{1} << 32) - alignment;

// Moments of a rank in a step. A signal of a moment covers all that the rank did before.
enum Moment { at_start, after_puts, after_reductions, moments };
constexpr int time_of(int step, Moment moment) { return step * moments + moment; }

// The signals that ranks wait for. Signals of one rank to another are counted, not named, so both
// use them in the order of time.
class Signals {
public:
    explicit Signals(int ranks) : waits_(as_size(ranks)), known_(as_size(ranks)) {}

    // Makes `waiter` wait, at a moment of its own, until `teller` has passed another one.
    void need(Rank waiter, int at_time, Rank teller, int passed) {
        int& wanted = wanted_.try_emplace({waiter, at_time, teller}, -1).first->second;
        wanted = std::max(wanted, passed);
    }

    // Call it after all needs. A wait is left out if an earlier one covers it.
    void settle() {
        for (const auto& [key, passed] : wanted_) {  // by time for each waiter
            const auto& [waiter, at_time, teller] = key;
            int& known = at(known_, waiter).try_emplace(teller, -1).first->second;
            if (passed <= known) continue;
            known = passed;
            at(waits_, waiter)[at_time].push_back(teller);
            tells_[{teller, passed}].insert(waiter);
            peers_[waiter].insert(teller);
            peers_[teller].insert(waiter);
        }
    }

    std::vector<Rank> waits(Rank waiter, int at_time) const {
        const auto found = at(waits_, waiter).find(at_time);
        return found == at(waits_, waiter).end() ? std::vector<Rank>{} : found->second;
    }
    std::vector<Rank> tells(Rank teller, int time) const {
        const auto found = tells_.find({teller, time});
        if (found == tells_.end()) return {};
        return {found->second.begin(), found->second.end()};
    }
    std::vector<Rank> peers(Rank rank) const {
        const auto found = peers_.find(rank);
        if (found == peers_.end()) return {};
        return {found->second.begin(), found->second.end()};
    }

private:
    std::map<std::tuple<Rank, int, Rank>, int> wanted_;
    std::vector<std::map<int, std::vector<Rank>>> waits_;
    std::vector<std::map<Rank, int>> known_;
    std::map<std::pair<Rank, int>, std::set<Rank>> tells_;
    std::map<Rank, std::set<Rank>> peers_;
};

// Waits happen before the rank's own signal of the step (the first half of a step's start), after
// it, and after its puts.
constexpr int wait_moments = 3;
enum WaitMoment { before_start, before_puts, before_reductions };
constexpr int wait_time(int step, WaitMoment moment) { return step * wait_moments + moment; }

// How memory was used so far.
struct MemoryUse {
    int written = 0;              // the time after which its value is there
    bool is_touched = false;      // by its rank, or by readers
    std::map<Rank, int> readers;  // peers, and the time after which they have read it
};

Signals signals_of(const PlacedMoves& placed, const FilePlaces& places, int ranks) {
    Signals signals(ranks);
    std::vector<std::map<FilePlace, MemoryUse>> uses(as_size(ranks));
    const auto use = [&](Rank rank, FilePlace place) -> MemoryUse& {
        return at(uses, rank)[places.memory_of(rank, place)];
    };
    const auto each = [&](const std::vector<PlacedMove>& moves, auto&& visit) {
        for (const PlacedMove& move : moves)
            for (int i = 0; i < move.count; ++i) visit(move, i);
    };
    std::vector<PlacedMove> step;
    const auto add_step = [&] {
        each(step, [&](const PlacedMove& move, int i) {  // reads of the values of the start
            MemoryUse& source = use(move.from, move.source.next(i));
            source.is_touched = true;
            if (move.action == Action::copy || move.from == move.to) return;
            signals.need(move.to, wait_time(move.step, before_puts), move.from, source.written);
            source.readers[move.to] = time_of(move.step, after_reductions);
        });
        each(step, [&](const PlacedMove& move, int i) {
            MemoryUse& target = use(move.to, move.target.next(i));
            for (const auto& [reader, time] : target.readers)
                signals.need(move.to, wait_time(move.step, before_start), reader, time);
            target.readers.clear();
            if (move.action == Action::copy && move.from != move.to) {
                const int free = target.is_touched ? time_of(move.step, at_start) : 0;
                signals.need(move.from, wait_time(move.step, before_puts), move.to, free);
                signals.need(move.to, wait_time(move.step, before_reductions), move.from,
                             time_of(move.step, after_puts));
            }
            target.is_touched = true;
            target.written = time_of(move.step, after_reductions);
        });
        step.clear();
    };
    int steps = 0;
    for (const PlacedMove& move : placed.moves) {
        if (!step.empty() && step.front().step != move.step) add_step();
        step.push_back(move);
        steps = move.step + 1;
    }
    add_step();
    for (Rank rank : all_ranks(ranks))
        for (const auto& [place, used] : at(uses, rank))
            for (const auto& [reader, time] : used.readers)
                signals.need(rank, wait_time(steps, before_start), reader, time);
    signals.settle();
    return signals;
}

// Memory of a rank, or of a peer.
struct PlanReference {
    std::optional<Rank> peer = {};
    FilePlace place;
    int count = 1;
};

struct PlanOperation {
    std::string_view name;
    std::vector<Rank> channels = {};
    std::vector<PlanReference> sources = {}, targets = {};
};

// The operations of one rank, with the barriers of its threads between those that depend on each
// other.
class RankPlan {
public:
    RankPlan(Rank rank, const FilePlaces& places) : rank_(rank), places_(places) {}

    void signal(const std::vector<Rank>& peers) {
        if (peers.empty()) return;
        if (waited_ || !touched_.empty()) synchronize();
        add_for_channels("signal", peers);
    }
    void wait(const std::vector<Rank>& peers) {
        if (peers.empty()) return;
        add_for_channels("wait", peers);
        waited_ = true;
    }
    void put(const PlacedMove& move) {
        use({{move.source, move.count}});
        add({.name = "put",
             .channels = {move.to},
             .sources = {{{}, move.source, move.count}},
             .targets = {{move.to, move.target, move.count}}});
    }
    void copy(const PlacedMove& move) {
        use({{move.source, move.count}, {move.target, move.count, /*is_written=*/true}});
        add({.name = "copy",
             .sources = {{{}, move.source, move.count}},
             .targets = {{{}, move.target, move.count}}});
    }
    void reduce(const PlacedMove& move) {
        const bool is_remote = move.from != move.to;
        PlanReference source{{}, move.source, move.count};
        if (is_remote) source.peer = move.from;
        if (is_remote && continues(move)) return operations_.back().sources.push_back(source);
        use({{move.operand, move.count},
             {move.target, move.count, /*is_written=*/true},
             {move.source, is_remote ? 0 : move.count}});
        add({.name = is_remote ? "rre" : "re",
             .sources = {{{}, move.operand, move.count}, source},
             .targets = {{{}, move.target, move.count}}});
    }

    const std::vector<PlanOperation>& operations() const { return operations_; }

private:
    void add(PlanOperation operation) { operations_.push_back(std::move(operation)); }
    void synchronize() {
        add({.name = "nop"});
        waited_ = false;
        touched_.clear();
    }
    // Memory that an operation uses.
    struct Use {
        FilePlace place;
        int count;
        bool is_written = false;
    };
    // Waits for other threads if they may still use the same memory.
    void use(std::initializer_list<Use> uses) {
        const auto each = [&](auto&& visit) {
            for (const Use& one : uses)
                for (int i = 0; i < one.count; ++i)
                    visit(places_.memory_of(rank_, one.place.next(i)), one.is_written);
        };
        bool must_wait = waited_;
        each([&](FilePlace memory, bool is_written) {
            const auto used = touched_.find(memory);
            must_wait |= used != touched_.end() && (is_written || used->second);
        });
        if (must_wait) synchronize();
        each([&](FilePlace memory, bool is_written) { touched_[memory] |= is_written; });
    }
    // Whether the last operation adds peers' chunks to the same target, in one pass over memory.
    bool continues(const PlacedMove& move) const {
        if (operations_.empty()) return false;
        const PlanOperation& last = operations_.back();
        return last.name == "rre" && move.operand == move.target &&
               last.targets[0].place == move.target && last.targets[0].count == move.count &&
               int_size(last.sources) <= most_channels_per_operation;
    }
    void add_for_channels(std::string_view name, const std::vector<Rank>& peers) {
        for (std::size_t i = 0; i < peers.size(); ++i) {
            if (i % most_channels_per_operation == 0) add({.name = name});
            operations_.back().channels.push_back(peers[i]);
        }
    }

    Rank rank_;
    const FilePlaces& places_;
    std::vector<PlanOperation> operations_;
    bool waited_ = false;                // since the last barrier
    std::map<FilePlace, bool> touched_;  // since then; true: written
};

std::vector<RankPlan> plans_of(const PlacedMoves& placed, const FilePlaces& places, int ranks) {
    const Signals signals = signals_of(placed, places, ranks);
    const int steps = placed.moves.empty() ? 0 : placed.moves.back().step + 1;
    std::vector<std::vector<const PlacedMove*>> moves_of(as_size(ranks));
    for (const PlacedMove& move : placed.moves) {
        at(moves_of, move.from).push_back(&move);
        if (move.to != move.from) at(moves_of, move.to).push_back(&move);
    }
    std::vector<RankPlan> plans;
    for (Rank rank : all_ranks(ranks)) {
        RankPlan& plan = plans.emplace_back(rank, places);
        const auto& moves = at(moves_of, rank);
        std::size_t begin = 0;
        for (int step = 0; step <= steps; ++step) {
            std::size_t end = begin;
            while (end < moves.size() && moves[end]->step == step) ++end;
            plan.wait(signals.waits(rank, wait_time(step, before_start)));
            plan.signal(signals.tells(rank, time_of(step, at_start)));
            plan.wait(signals.waits(rank, wait_time(step, before_puts)));
            for (std::size_t i = begin; i < end; ++i)
                if (moves[i]->action == Action::copy && moves[i]->to != rank) plan.put(*moves[i]);
            plan.signal(signals.tells(rank, time_of(step, after_puts)));
            plan.wait(signals.waits(rank, wait_time(step, before_reductions)));
            for (std::size_t i = begin; i < end; ++i) {
                if (moves[i]->to != rank) continue;
                if (moves[i]->action == Action::reduce)
                    plan.reduce(*moves[i]);
                else if (moves[i]->from == rank)
                    plan.copy(*moves[i]);
            }
            plan.signal(signals.tells(rank, time_of(step, after_reductions)));
            begin = end;
        }
    }
    return plans;
}

// Numbers things in the order of their first use.
template <class Thing>
class Numbering {
public:
    int number_of(const Thing& thing) {
        const auto found = std::ranges::find(things_, thing);
        if (found != things_.end()) return static_cast<int>(found - things_.begin());
        things_.push_back(thing);
        return int_size(things_) - 1;
    }
    const std::vector<Thing>& things() const { return things_; }

private:
    std::vector<Thing> things_;
};

// A part of a rank's memory that its peers reach.
struct RemoteBuffer {
    Rank rank;
    FileBuffer buffer;
    auto operator<=>(const RemoteBuffer&) const = default;
};

std::string letter(FileBuffer buffer) { return {static_cast<char>(buffer)}; }

// Writes the operations of one rank as thread blocks that run one after another, as a block holds
// few operations and channels.
class GpuWriter {
public:
    Json write(const RankPlan& plan, Rank rank, Json gpu) {
        for (const PlanOperation& operation : plan.operations()) {
            if (int_size(operations_) + 2 >= most_operations || !has_room(operation)) next_block();
            add(operation);
        }
        finish_block();
        if (semaphores_ > most_semaphores)
            refuse_export(
                plan_format,
                fmt::format("the {} operations of GPU {} (at most {})", plan.operations().size(),
                            rank.index, most_semaphores * (most_operations - 4)),
                "fewer --ranks or --segments, or --to msccl-xml, goal, chakra or dot");
        gpu["threadblocks"] = std::move(blocks_);
        gpu["channels"] = Json::array();
        if (!channels_.things().empty())
            gpu["channels"].push_back(
                {{"channel_type", "memory"}, {"connected_to", indices(channels_.things())}});
        gpu["remote_buffers"] = Json::array();
        for (const RemoteBuffer& remote : buffers_.things())
            gpu["remote_buffers"].push_back({{"rank", remote.rank.index},
                                             {"type", letter(remote.buffer)},
                                             {"access_channel_types", {"memory"}}});
        gpu["semaphores"] = Json::array();
        for (int i = 0; i < semaphores_; ++i) gpu["semaphores"].push_back({{"init_value", 0}});
        return gpu;
    }

private:
    static Json indices(const std::vector<Rank>& ranks) {
        Json list = Json::array();
        for (const Rank rank : ranks) list.push_back(rank.index);
        return list;
    }

    bool has_room(const PlanOperation& operation) {
        Numbering<int> channels = block_channels_, buffers = block_buffers_;
        for (const Rank peer : operation.channels) channels.number_of(channels_.number_of(peer));
        for (const auto* list : {&operation.sources, &operation.targets})
            for (const PlanReference& reference : *list)
                if (reference.peer) buffers.number_of(number_of(reference));
        return int_size(channels.things()) <= most_channels &&
               int_size(buffers.things()) <= most_channels;
    }
    int number_of(const PlanReference& remote) {
        return buffers_.number_of({*remote.peer, remote.place.buffer});
    }

    void add(const PlanOperation& operation) {
        Json json{{"name", operation.name}};
        if (!operation.channels.empty()) {
            json["channel_ids"] = Json::array();
            for (const Rank peer : operation.channels)
                json["channel_ids"].push_back(block_channels_.number_of(channels_.number_of(peer)));
        }
        const auto references = [&](const std::vector<PlanReference>& list) {
            Json all = Json::array();
            for (const PlanReference& reference : list) {
                Json one;
                if (reference.peer)
                    one["buffer_id"] = block_buffers_.number_of(number_of(reference));
                else
                    one["type"] = letter(reference.place.buffer);
                one["index"] = reference.place.index;
                one["size"] = reference.count;
                all.push_back(std::move(one));
            }
            return all;
        };
        if (!operation.sources.empty()) json["src_buff"] = references(operation.sources);
        if (!operation.targets.empty()) json["dst_buff"] = references(operation.targets);
        if (operation.name != "nop" && operation.name != "copy" && operation.name != "re")
            json["channel_type"] = "memory";
        if (operation.name == "rre" || operation.name == "re") json["reduce_op"] = "sum";
        operations_.push_back(std::move(json));
    }

    void add_semaphore(const char* name, int semaphore) {
        operations_.push_back({{"name", name}, {"semaphore_ids", {semaphore}}});
    }

    void next_block() {
        operations_.push_back({{"name", "nop"}});
        add_semaphore("sem_release", semaphores_);
        finish_block();
        add_semaphore("sem_acquire", semaphores_++);
        operations_.push_back({{"name", "nop"}});
    }

    void finish_block() {
        Json block{{"id", blocks_.size()}, {"ops", std::move(operations_)}};
        block["channels"] = Json::array();
        if (!block_channels_.things().empty())
            block["channels"].push_back(
                {{"channel_type", "memory"}, {"channel_ids", block_channels_.things()}});
        block["remote_buffer_refs"] = Json::array();
        if (!block_buffers_.things().empty())
            block["remote_buffer_refs"].push_back({{"access_channel_type", "memory"},
                                                   {"remote_buffer_ids", block_buffers_.things()}});
        blocks_.push_back(std::move(block));
        operations_ = Json::array();
        block_channels_ = {};
        block_buffers_ = {};
    }

    Numbering<Rank> channels_;
    Numbering<RemoteBuffer> buffers_;
    Json blocks_ = Json::array();
    int semaphores_ = 0;
    // These belong to the current block.
    Json operations_ = Json::array();
    Numbering<int> block_channels_, block_buffers_;
};

}  // namespace

std::vector<ExportedFile> mscclpp_plan(const ExportedSchedule& exported) {
    const CollectiveSpec& spec = exported.spec;
    const auto collective = msccl_name(spec.collective(), plan_format, &MscclName::plan);
    const FilePlaces places(exported.schedule.chunks(), spec, exported.in_place);
    const PlacedMoves placed = place_moves(exported.schedule, places, {.targets = Targets::apart});
    Json plan{{"name", exported.name},         {"collective", collective},
              {"protocol", "Simple"},          {"inplace", exported.in_place == Aliasing::in_place},
              {"reuse_resources", false},      {"gpus", Json::array()},
              {"num_threads_per_block", 1024}, {"use_double_scratch_buffer", false},
              {"buffer_alignment", alignment}, {"min_message_size", 0},
              {"max_message_size", most_bytes}};
    const std::vector<RankPlan> plans = plans_of(placed, places, spec.ranks());
    for (Rank rank : all_ranks(spec.ranks()))
        plan["gpus"].push_back(
            GpuWriter().write(at(plans, rank), rank,
                              {{"id", rank.index},
                               {"input_chunks", places.input_chunks(rank)},
                               {"output_chunks", places.output_chunks(rank)},
                               {"scratch_chunks", at(placed.scratch_chunks, rank)}}));
    return {{.name_end = "", .text = one_line(plan) + "\n"}};
}

}  // namespace tutti
