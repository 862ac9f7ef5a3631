// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// A stream of lines to another process, over TCP.
class Connection {
public:
    /// Throws Error if nobody listens at "HOST:PORT".
    explicit Connection(const std::string& address);
    /// Takes over a connected socket.
    explicit Connection(int socket);
    ~Connection();
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;

    /// Throws Error if the other side has gone.
    void send(std::string_view line);

    /// The next line without its newline; nothing once the other side has gone. `meanwhile` is
    /// called several times a second. Throws Error (time_out) after so many seconds.
    std::optional<std::string> receive(
        double seconds, const std::function<void()>& meanwhile = [] {});

private:
    int socket_;
    std::string unread_;
};

/// Waits for connections at a free port of `host`, an address of this machine.
class Listener {
public:
    explicit Listener(const std::string& host);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// "HOST:PORT"
    const std::string& address() const { return address_; }
    /// Nothing if nobody came in so many seconds.
    std::optional<Connection> accept(double seconds);

private:
    int socket_;
    std::string address_;
};

}  // namespace tutti
