// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// A TCP connection that transfers lines.
class Connection {
public:
    /// Connects to "HOST:PORT". Throws Error if that fails.
    explicit Connection(const std::string& address);
    /// Takes ownership of a connected socket.
    explicit Connection(int socket);
    ~Connection();
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;

    /// Throws Error if the peer has closed the connection.
    void send(std::string_view line);

    /// Returns the next line without its newline; nothing if the peer has closed the connection.
    /// Calls `meanwhile` several times a second. Throws Error (time_out) after this many seconds.
    std::optional<std::string> receive(
        double seconds, const std::function<void()>& meanwhile = [] {});

private:
    int socket_;
    std::string unread_;
};

/// Listens at a free port of `host`, an address of this machine.
class Listener {
public:
    explicit Listener(const std::string& host);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// "HOST:PORT"
    const std::string& address() const { return address_; }
    /// Returns nothing if no connection arrives in time.
    std::optional<Connection> accept(double seconds);

private:
    int socket_;
    std::string address_;
};

}  // namespace tutti
