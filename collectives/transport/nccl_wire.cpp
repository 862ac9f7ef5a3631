// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include "collectives/transport/nccl.hpp"

namespace tutti {
namespace {

// The messages of a step are one group, so that none waits for another one to be posted.
class NcclWire final : public Wire {
public:
    NcclWire(NcclRanks& ranks, const WireNeeds& needs)
        : ranks_(ranks), stream_(static_cast<cudaStream_t>(needs.queue->handle())) {
        messages_.reserve(needs.most_posts);
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        messages_.push_back({Way::in, from, into});
    }

    void post_send(int, Rank to, std::span<const std::byte> from) override {
        // Only ever read.
        messages_.push_back({Way::out, to, {const_cast<std::byte*>(from.data()), from.size()}});
    }

    // From then on the stream keeps the order: what it is asked next comes after the messages.
    bool all_done() override {
        ranks_.throw_if_failed();
        if (!messages_.empty())
            ranks_.ask("a group of ncclSend and ncclRecv",
                       [&](void* comm) { return post(static_cast<ncclComm_t>(comm)); });
        messages_.clear();
        return true;
    }

    std::optional<Rank> waits_for() const override { return std::nullopt; }

private:
    enum class Way : std::uint8_t { in, out };
    struct Message {
        Way way;
        Rank peer;
        std::span<std::byte> memory;
    };

    ncclResult_t post(ncclComm_t comm) const {
        ncclResult_t worst = ncclGroupStart();
        for (const auto& [way, peer, memory] : messages_) {
            if (worst != ncclSuccess) break;
            worst = keep(
                way == Way::in
                    ? ncclRecv(memory.data(), memory.size(), ncclUint8, peer.index, comm, stream_)
                    : ncclSend(memory.data(), memory.size(), ncclUint8, peer.index, comm, stream_));
        }
        const ncclResult_t ended = ncclGroupEnd();
        return worst != ncclSuccess ? worst : ended;
    }

    // Within a group nothing has begun yet.
    static ncclResult_t keep(ncclResult_t result) {
        return result == ncclInProgress ? ncclSuccess : result;
    }

    NcclRanks& ranks_;
    cudaStream_t stream_;
    std::vector<Message> messages_;
};

class NcclMessages final : public MessageTransport {
public:
    explicit NcclMessages(World& world) : ranks_(NcclRanks::of(world)), size_(world.size()) {}

    std::string_view name() const override { return "nccl"; }
    std::string details() const override {
        return "NCCL " + nccl_version() + (size_ == 1 ? ", one rank: nothing is sent" : "");
    }
    bool is_between_devices() const override { return true; }
    bool follows_queue() const override { return true; }
    std::unique_ptr<Wire> connect(const WireNeeds& needs) override {
        if (needs.queue == nullptr) throw Error("nccl moves the memory of GPUs only");
        return std::make_unique<NcclWire>(ranks_, needs);
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
