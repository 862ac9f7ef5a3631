// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/message_program.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace tutti {
namespace {

// Where bytes lie: in the user's buffers, or at an offset of scratch, inbox or outbox, whose size
// is only known when all steps are read.
struct Spot {
    enum class In : std::uint8_t { input, output, scratch, inbox, outbox } in;
    std::size_t offset;
    bool operator==(const Spot&) const = default;
    Spot behind(std::size_t bytes) const { return {in, offset + bytes}; }
};

// A message before the memory is allocated.
struct Draft {
    Rank peer;
    Spot spot;
    std::size_t bytes;
};

struct DraftMove {
    Spot out;
    std::vector<Spot> sources;
    std::size_t bytes;
};

struct DraftStep {
    int number;
    std::vector<DraftMove> packing, moves;
    std::vector<Draft> receives, sends;
};

class Compiler {
public:
    Compiler(const PlanRequest& request, Rank me, std::size_t most_bytes)
        : request_(request),
          me_(me),
          most_bytes_(most_bytes),
          promise_(request.call.collective, request.schedule.ranks(), request.call.root),
          layout_(request.call, promise_, me, request.schedule.chunks()) {
        // In place, an all-to-all's input and output chunks overlap crosswise: read from a copy.
        copies_input_ = request.call.collective == Collective::all_to_all &&
                        !request.input.empty() && request.input.data() == request.output.data();
    }

    MessageProgram compile() {
        if (copies_input_) take_scratch(request_.input.size());
        RankStep step;
        for (int number = 0; number < request_.schedule.steps(); ++number) {
            read_step(request_.schedule, number, me_, layout_, step);
            if (!step.is_empty()) draft(number, step);
        }
        return finished();
    }

private:
    using In = Spot::In;

    Spot input_spot(std::size_t offset) const {
        return copies_input_ ? Spot{In::scratch, offset} : Spot{In::input, offset};
    }

    // Where the chunk's value is now; it is in the input until something arrives.
    Spot current(int chunk) {
        const auto known = current_.find(chunk);
        return known != current_.end() ? known->second
                                       : input_spot(layout_.in_input(chunk).value());
    }

    // Where the chunk belongs: in the output, or in scratch if it only passes through.
    Spot home(int chunk) {
        if (const auto offset = layout_.in_output(chunk)) return {In::output, *offset};
        const auto [known, is_new] = passing_.try_emplace(chunk);
        if (is_new) known->second = {In::scratch, take_scratch(layout_.bytes_of(chunk))};
        return known->second;
    }

    std::size_t take_scratch(std::size_t bytes) {
        return std::exchange(scratch_, scratch_ + bytes);
    }

    bool is_same_memory(Spot a, Spot b) const {
        if (a == b) return true;
        const auto address = [&](Spot s) -> const std::byte* {
            if (s.in == In::input) return request_.input.data() + s.offset;
            if (s.in == In::output) return request_.output.data() + s.offset;
            return nullptr;
        };
        return address(a) != nullptr && address(a) == address(b);
    }

    void draft(int number, const RankStep& step) {
        DraftStep draft{.number = number};
        draft_sends(step, draft);
        draft_receives(step, draft);
        most_posts_ = std::max(most_posts_, posts_of(draft));
        steps_.push_back(std::move(draft));
    }

    // Sent from where it lies if it lies together, else packed.
    void draft_sends(const RankStep& step, DraftStep& draft) {
        std::size_t outbox = 0;
        for (const auto& message : by_peer(step.departures)) {
            const Rank to = step.departures[message.front()].peer;
            std::vector<std::pair<Spot, std::size_t>> parts;
            for (const std::size_t i : message) {
                const int chunk = step.departures[i].chunk;
                if (const auto at = current(chunk);
                    !parts.empty() && parts.back().first.behind(parts.back().second) == at)
                    parts.back().second += layout_.bytes_of(chunk);
                else
                    parts.push_back({at, layout_.bytes_of(chunk)});
            }
            if (parts.size() == 1) {
                draft.sends.push_back({to, parts[0].first, parts[0].second});
                continue;
            }
            const Spot packed{In::outbox, outbox};
            for (const auto& [spot, bytes] : parts) {
                draft.packing.push_back({{In::outbox, outbox}, {spot}, bytes});
                outbox += bytes;
            }
            draft.sends.push_back({to, packed, outbox - packed.offset});
        }
        outbox_ = std::max(outbox_, outbox);
    }

    void draft_receives(const RankStep& step, DraftStep& draft) {
        std::size_t inbox = 0;
        std::vector<Spot> arrived_at(step.arrivals.size(), Spot{In::inbox, 0});
        std::vector<bool> is_home(step.arrivals.size(), false);
        const auto traffic = traffic_of(step);
        for (const auto& message : by_peer(step.arrivals)) {
            const Rank from = step.arrivals[message.front()].peer;
            if (from == me_) {
                for (const std::size_t i : message) arrived_at[i] = current(step.arrivals[i].chunk);
                continue;
            }
            const bool in_place = arrives_in_place(step, message, traffic);
            const Spot start =
                in_place ? home(step.arrivals[message.front()].chunk) : Spot{In::inbox, inbox};
            std::size_t bytes = 0;
            for (const std::size_t i : message) {
                arrived_at[i] = start.behind(bytes);
                is_home[i] = in_place;
                bytes += layout_.bytes_of(step.arrivals[i].chunk);
            }
            draft.receives.push_back({from, start, bytes});
            if (!in_place) inbox += bytes;
        }
        inbox_ = std::max(inbox_, inbox);
        draft_moves(step, arrived_at, is_home, draft);
    }

    // A message can be received where it belongs if it only brings copies, their places lie side by
    // side, nothing else arrives there, and the old values are not being sent in this step.
    bool arrives_in_place(const RankStep& step, const std::vector<std::size_t>& message,
                          const std::unordered_map<int, Traffic>& traffic) {
        std::optional<Spot> next;
        for (const std::size_t i : message) {
            const auto [chunk, peer, action] = step.arrivals[i];
            if (action == Action::reduce) return false;
            const Spot place = home(chunk);
            if (next && place != *next) return false;
            next = place.behind(layout_.bytes_of(chunk));
            const Traffic& of_chunk = traffic.at(chunk);
            if (of_chunk.arrivals > 1) return false;
            if (of_chunk.departs && is_same_memory(current(chunk), place)) return false;
        }
        return true;
    }

    // One move per chunk that something arrived for: its own value first unless a copy replaces it.
    void draft_moves(const RankStep& step, const std::vector<Spot>& arrived_at,
                     const std::vector<bool>& is_home, DraftStep& draft) {
        std::unordered_map<int, std::size_t> move_of;
        for (std::size_t i = 0; i < step.arrivals.size(); ++i) {
            const auto [chunk, peer, action] = step.arrivals[i];
            if (is_home[i]) continue;
            const auto [known, is_new] = move_of.try_emplace(chunk, draft.moves.size());
            if (is_new) {
                draft.moves.push_back({home(chunk), {}, layout_.bytes_of(chunk)});
                if (action == Action::reduce) draft.moves.back().sources.push_back(current(chunk));
            }
            draft.moves[known->second].sources.push_back(arrived_at[i]);
        }
        for (const Passage& arrival : step.arrivals) current_[arrival.chunk] = home(arrival.chunk);
    }

    std::size_t posts_of(const DraftStep& draft) const {
        std::size_t posts = 0;
        for (const auto* list : {&draft.receives, &draft.sends})
            for (const Draft& message : *list)
                posts += (message.bytes + most_bytes_ - 1) / most_bytes_;
        return posts;
    }

    MessageProgram finished() {
        MessageProgram program(request_.call);
        program.most_posts = most_posts_;
        program.scratch = std::make_unique_for_overwrite<std::byte[]>(scratch_);
        program.inbox = std::make_unique_for_overwrite<std::byte[]>(inbox_);
        program.outbox = std::make_unique_for_overwrite<std::byte[]>(outbox_);
        if (copies_input_) add_copy_of_input(program);
        for (const DraftStep& draft : steps_) {
            MessageStep step{.number = draft.number};
            step.packing = add_moves(program, draft.packing);
            step.receives = add_posts(program, program.receives, draft.receives);
            step.sends = add_posts(program, program.sends, draft.sends);
            step.moves = add_moves(program, draft.moves);
            program.steps.push_back(step);
        }
        settle(program);
        return program;
    }

    // As a first step without messages.
    void add_copy_of_input(MessageProgram& program) {
        const auto bytes = request_.input.size();
        program.steps.push_back(
            {.number = 0,
             .moves = add_moves(program, {{{In::scratch, 0}, {{In::input, 0}}, bytes}})});
    }

    Entries add_moves(MessageProgram& program, const std::vector<DraftMove>& drafts) {
        program.moves.close();
        Entries entries{program.moves.size(), 0};
        std::vector<const std::byte*> sources;
        for (const DraftMove& draft : drafts) {
            sources.clear();
            for (const Spot& source : draft.sources) sources.push_back(address(program, source));
            program.moves.add(address(program, draft.out), sources, draft.bytes);
        }
        entries.end = program.moves.size();
        return entries;
    }

    Entries add_posts(const MessageProgram& program, std::vector<Post>& posts,
                      const std::vector<Draft>& drafts) {
        Entries entries{static_cast<std::uint32_t>(posts.size()), 0};
        for (const Draft& draft : drafts)
            for (std::size_t done = 0; done < draft.bytes; done += most_bytes_)
                posts.push_back({draft.peer,
                                 {address(program, draft.spot) + done,
                                  std::min(most_bytes_, draft.bytes - done)}});
        entries.end = static_cast<std::uint32_t>(posts.size());
        return entries;
    }

    // Results that still lie in the input go to the output.
    void settle(MessageProgram& program) {
        std::vector<DraftMove> moves;
        for_each_output_chunk(promise_, me_, request_.schedule.chunks(), [&](int chunk) {
            if (layout_.bytes_of(chunk) == 0) return;
            const Spot at = current(chunk), belongs = home(chunk);
            if (!is_same_memory(at, belongs))
                moves.push_back({belongs, {at}, layout_.bytes_of(chunk)});
        });
        program.settling = add_moves(program, moves);
    }

    std::byte* address(const MessageProgram& program, Spot spot) const {
        switch (spot.in) {
            // Only ever read: it is a source, or a message that is sent.
            case In::input:
                return const_cast<std::byte*>(request_.input.data()) + spot.offset;
            case In::output:
                return request_.output.data() + spot.offset;
            case In::scratch:
                return program.scratch.get() + spot.offset;
            case In::inbox:
                return program.inbox.get() + spot.offset;
            case In::outbox:
                return program.outbox.get() + spot.offset;
        }
        return nullptr;
    }

    const PlanRequest& request_;
    Rank me_;
    std::size_t most_bytes_;
    Promise promise_;
    Layout layout_;
    bool copies_input_ = false;
    std::unordered_map<int, Spot> current_, passing_;
    std::vector<DraftStep> steps_;
    std::size_t scratch_ = 0, inbox_ = 0, outbox_ = 0, most_posts_ = 0;
};

}  // namespace

MessageProgram compile_messages(const PlanRequest& request, const World& world,
                                std::size_t most_bytes) {
    return Compiler(request, world.rank(), most_bytes).compile();
}

}  // namespace tutti
