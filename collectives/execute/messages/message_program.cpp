// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/messages/message_program.hpp"

#include <algorithm>

#include "base/rounding.hpp"
#include "collectives/execute/messages/message_draft.hpp"

namespace tutti {
namespace {

// Allocates the memory of a draft: places become addresses, and each list becomes a flat array.
class Assembly {
public:
    Assembly(const PlanRequest& request, std::size_t most_bytes)
        : request_(request), most_bytes_(most_bytes), program_(request.call, request.buffers) {}

    MessageProgram assemble(const MessageDraft& draft) {
        program_.memory = memory(draft.plan);
        program_.inbox = memory(draft.inbox);
        program_.outbox = memory(draft.outbox);
        for (const DraftStep& drafted : draft.steps) {
            MessageStep step{.number = drafted.number};
            step.packing = add_moves(drafted.packing);
            step.receives = add_posts(program_.receives, drafted.receives);
            step.sends = add_posts(program_.sends, drafted.sends);
            step.moves = add_moves(drafted.moves);
            program_.most_posts = std::max(program_.most_posts, posts_of(step));
            program_.steps.push_back(step);
        }
        program_.settling = add_moves(draft.settling);
        return std::move(program_);
    }

private:
    static std::size_t posts_of(const MessageStep& step) {
        return step.receives.end - step.receives.first + step.sends.end - step.sends.first;
    }

    std::shared_ptr<std::byte> memory(std::size_t bytes) const {
        if (program_.device != nullptr) return program_.device->allocate(bytes);
        return {new std::byte[bytes], std::default_delete<std::byte[]>()};
    }

    Entries add_moves(const std::vector<DraftMove>& drafts) {
        program_.moves.close();
        Entries entries{program_.moves.size(), 0};
        std::vector<Moves::Operand> sources;
        for (const DraftMove& draft : drafts) {
            sources.clear();
            for (const Place& source : draft.sources) sources.push_back({address(source)});
            if (program_.queue != nullptr) expect_room_for(sources.size());
            const Moves::Operand out{address(draft.out)};
            program_.moves.add({&out, 1}, sources, draft.bytes);
        }
        entries.end = program_.moves.size();
        return entries;
    }

    Entries add_posts(std::vector<Post>& posts, const std::vector<DraftMessage>& drafts) {
        Entries entries{static_cast<std::uint32_t>(posts.size()), 0};
        for (const DraftMessage& draft : drafts) {
            const std::size_t pieces = divide_up(draft.bytes, most_bytes_);
            program_.most_to_one = std::max(program_.most_to_one, pieces);
            program_.most_bytes = std::max(program_.most_bytes, std::min(most_bytes_, draft.bytes));
            for (std::size_t done = 0; done < draft.bytes; done += most_bytes_)
                posts.push_back(
                    {draft.peer,
                     {address(draft.place) + done, std::min(most_bytes_, draft.bytes - done)}});
        }
        entries.end = static_cast<std::uint32_t>(posts.size());
        return entries;
    }

    void expect_room_for(std::size_t sources) const {
        const std::size_t most = program_.queue->most_sources(request_.call.type);
        if (sources <= most) return;
        throw Error("the GPU adds up at most " + std::to_string(most) + " shares of " +
                    std::string(name_of(request_.call.type)) + " at once, but this call has " +
                    std::to_string(sources) + "; use --algo ring");
    }

    std::byte* address(Place place) const { return begin_of(place.in) + place.offset; }

    std::byte* begin_of(Place::In in) const {
        switch (in) {
            // Only read: it is a source, or a message that is sent.
            case Place::In::input:
                return const_cast<std::byte*>(request_.buffers.input.data());
            case Place::In::output:
                return request_.buffers.output.data();
            case Place::In::plan:
                return program_.memory.get();
            case Place::In::inbox:
                return program_.inbox.get();
            case Place::In::outbox:
                return program_.outbox.get();
            case Place::In::registered:
            case Place::In::published:
                break;  // only in direct plans
        }
        return nullptr;
    }

    const PlanRequest& request_;
    std::size_t most_bytes_;
    MessageProgram program_;
};

}  // namespace

void MessageProgram::rebind(const CallerMemory& caller) {
    for (auto* posts : {&receives, &sends})
        for (Post& post : *posts)
            post.memory = {moves.caller().carried(post.memory.data(), caller), post.memory.size()};
    moves.rebind(caller);
}

std::vector<MessageProgram> compile_messages(const PlanRequest& request, const World& world,
                                             std::size_t most_bytes) {
    std::vector<MessageProgram> programs;
    for (const MessageDraft& draft : draft_messages(request, world.rank()))
        programs.push_back(Assembly(request, most_bytes).assemble(draft));
    return programs;
}

}  // namespace tutti
