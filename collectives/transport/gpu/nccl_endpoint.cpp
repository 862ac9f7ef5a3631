// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include <algorithm>
#include <exception>

#include "collectives/transport/gpu/nccl.hpp"

namespace tutti {
namespace {

// Posts the messages of a step as one group, so that none waits for another one to be posted.
class NcclEndpoint final : public Endpoint {
public:
    NcclEndpoint(NcclRanks& ranks, const EndpointNeeds& needs)
        : ranks_(ranks), queue_(*needs.queue), stream_(static_cast<cudaStream_t>(queue_.handle())) {
        messages_.reserve(needs.most_posts);
    }
    // The destructor also runs during stack unwinding.
    ~NcclEndpoint() override {
        if (std::uncaught_exceptions() > 0) ranks_.give_up();
    }

    void post_receive(int step, Rank from, std::span<std::byte> into) override {
        add(step, {Direction::in, from, into});
    }

    void post_send(int step, Rank to, std::span<const std::byte> from) override {
        // Only read.
        add(step, {Direction::out, to, {const_cast<std::byte*>(from.data()), from.size()}});
    }

    // From then on the stream keeps the order: later work runs after the messages.
    bool all_done() override {
        if (groups_.empty() || groups_.back().posted) return true;
        Group& group = groups_.back();
        ranks_.ask([&] { return describe(&group); },
                   [&](void* comm) { return post(group, static_cast<ncclComm_t>(comm)); });
        group.posted = queue_.mark();
        return true;
    }

    std::optional<Rank> waits_for() const override { return std::nullopt; }

    std::optional<Outstanding> outstanding() const override {
        const Group* group = current();
        if (group == nullptr) return std::nullopt;
        return Outstanding{group->step, peers_of(*group)};
    }

    void throw_if_failed() override {
        ranks_.throw_if_failed([this] { return describe(current()); });
    }

    void give_up() override { ranks_.give_up(); }

private:
    enum class Direction : std::uint8_t { in, out };
    struct Message {
        Direction direction;
        Rank peer;
        std::span<std::byte> memory;
    };
    struct Group {
        int step;
        std::size_t first, end;  // indices of its messages
        std::optional<DeviceQueue::Mark> posted = {};
    };

    // Keeps the groups of a run until the next one, so that the step that the stream has reached
    // can be reported. Only the first run allocates.
    void add(int step, const Message& message) {
        const bool is_next_run =
            !groups_.empty() && groups_.back().posted && step <= groups_.back().step;
        if (is_next_run) {
            groups_.clear();
            messages_.clear();
        }
        if (groups_.empty() || groups_.back().posted)
            groups_.push_back({step, messages_.size(), messages_.size()});
        messages_.push_back(message);
        groups_.back().end = messages_.size();
    }

    std::span<const Message> messages_of(const Group& group) const {
        return std::span(messages_).subspan(group.first, group.end - group.first);
    }

    // Returns the first group that the stream has not finished.
    const Group* current() const {
        for (const Group& group : groups_)
            if (!group.posted || !queue_.is_past(*group.posted)) return &group;
        return nullptr;
    }

    std::vector<Rank> peers_of(const Group& group) const {
        std::vector<Rank> peers;
        for (const Message& message : messages_of(group)) peers.push_back(message.peer);
        std::ranges::sort(peers);
        const auto doubled = std::ranges::unique(peers);
        peers.erase(doubled.begin(), doubled.end());
        return peers;
    }

    std::string describe(const Group* group) const {
        if (group == nullptr) return "messages that have arrived";
        return "messages of step " + std::to_string(group->step) + " with " +
               one_of(peers_of(*group));
    }

    ncclResult_t post(const Group& group, ncclComm_t comm) const {
        ncclResult_t worst = ncclGroupStart();
        for (const auto& [direction, peer, memory] : messages_of(group)) {
            if (worst != ncclSuccess) break;
            worst = keep(
                direction == Direction::in
                    ? ncclRecv(memory.data(), memory.size(), ncclUint8, peer.index, comm, stream_)
                    : ncclSend(memory.data(), memory.size(), ncclUint8, peer.index, comm, stream_));
        }
        const ncclResult_t ended = ncclGroupEnd();
        return worst != ncclSuccess ? worst : ended;
    }

    // Inside a group, NCCL has started nothing yet.
    static ncclResult_t keep(ncclResult_t result) {
        return result == ncclInProgress ? ncclSuccess : result;
    }

    NcclRanks& ranks_;
    DeviceQueue& queue_;
    cudaStream_t stream_;
    std::vector<Message> messages_;
    std::vector<Group> groups_;
};

class NcclMessages final : public MessageTransport {
public:
    explicit NcclMessages(World& world) : ranks_(NcclRanks::of(world)), size_(world.size()) {}

    std::string_view name() const override { return "nccl"; }
    std::string details() const override {
        return "NCCL " + nccl_version() + (size_ == 1 ? ", one rank: nothing is sent" : "");
    }
    bool follows_queue() const override { return true; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        if (needs.queue == nullptr) throw Error("nccl moves the memory of GPUs only");
        return std::make_unique<NcclEndpoint>(ranks_, needs);
    }

private:
    NcclRanks& ranks_;
    int size_;
};

}  // namespace

std::unique_ptr<MessageTransport> nccl_transport(World& world) {
    return std::make_unique<NcclMessages>(world);
}

}  // namespace tutti
