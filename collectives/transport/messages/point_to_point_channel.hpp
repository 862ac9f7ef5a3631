// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Small messages between two ranks outside of plans, for measurements of hosts and their network.
/// All calls block until they are done, and throw Error with Exit::time_out, naming the peer, if
/// that takes longer than the world's deadline.
class PointToPointChannel {
public:
    /// Uses the plain messages of this world: MPI's, those between threads, or UCX's. Collective.
    explicit PointToPointChannel(World& world);

    void send(Rank to, std::span<const std::byte> words);
    void receive(Rank from, std::span<std::byte> words);
    /// Sends and receives at the same time.
    void exchange(Rank to, std::span<const std::byte> out, Rank from, std::span<std::byte> in);

    /// T is trivially copyable.
    template <class T>
    void send_value(Rank to, const T& value) {
        send(to, std::as_bytes(std::span(&value, 1)));
    }
    template <class T>
    T receive_value(Rank from) {
        T value{};
        receive(from, std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }

private:
    void finish();

    World& world_;
    std::unique_ptr<MessageTransport> messages_;
    std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace tutti
