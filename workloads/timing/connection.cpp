// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/connection.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace tutti {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, const std::string& port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
    if (code != 0)
        throw Error("'" + host + "' is not an address (" + gai_strerror(code) +
                    "); use --listen with an address of this machine");
    return {found, &freeaddrinfo};
}

constexpr std::size_t most_unread = std::size_t{64}
                                    << 20;  // enough for the end times of all steps of a block

// Returns false after the time limit.
bool is_readable(int socket, double seconds) {
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, static_cast<int>(seconds * 1000)) > 0;
}

}  // namespace

Connection::Connection(const std::string& address) : socket_(-1) {
    const std::size_t colon = address.rfind(':');
    const Addresses found =
        addresses_of(address.substr(0, colon), address.substr(std::min(colon, address.size()) + 1));
    for (const addrinfo* one = found.get(); one != nullptr && socket_ < 0; one = one->ai_next) {
        socket_ = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, 0);
        if (socket_ >= 0 && ::connect(socket_, one->ai_addr, one->ai_addrlen) != 0) {
            ::close(socket_);
            socket_ = -1;
        }
    }
    if (socket_ < 0)
        throw Error("cannot connect to " + address + " (" + std::strerror(errno) +
                        "); for ranks on other hosts, use 'tutti compare --listen' with an address "
                        "that they can reach",
                    Exit::rank_lost);
    const int yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Connection::Connection(int socket) : socket_(socket) {
    const int yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Connection::~Connection() {
    if (socket_ >= 0) ::close(socket_);
}

Connection::Connection(Connection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(unread_, other.unread_);
    return *this;
}

void Connection::send(std::string_view line) {
    const std::string text = std::string(line) + '\n';
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t now = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0)
            throw Error("the peer of the comparison closed the connection", Exit::rank_lost);
        sent += static_cast<std::size_t>(now);
    }
}

std::optional<std::string> Connection::receive(double seconds,
                                               const std::function<void()>& meanwhile) {
    AwakeTime waited;
    while (true) {
        if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
            std::string line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return line;
        }
        // Also limits peers that send bytes, but never a complete line.
        if (waited.look_seconds() > seconds)
            throw Error("no message from the peer of the comparison for " +
                            std::to_string(static_cast<long>(seconds)) + " s",
                        Exit::time_out);
        if (unread_.size() > most_unread)
            throw Error("the peer of the comparison sends a line without an end", Exit::rank_lost);
        meanwhile();
        if (!is_readable(socket_, 0.2)) continue;
        char some[4096];
        const ssize_t now = ::recv(socket_, some, sizeof some, 0);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return std::nullopt;
        unread_.append(some, static_cast<std::size_t>(now));
    }
}

Listener::Listener(const std::string& host) : socket_(-1) {
    const Addresses found = addresses_of(host, "0");
    socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (socket_ < 0 || ::bind(socket_, found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(socket_, 4) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
        const std::string why = std::strerror(errno);
        if (socket_ >= 0) ::close(socket_);
        throw Error("cannot listen at '" + host + "' (" + why +
                    "); use --listen with an address of this machine");
    }
    const auto port = bound.ss_family == AF_INET6
                          ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                          : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
    address_ = host + ":" + std::to_string(ntohs(port));
}

Listener::~Listener() { ::close(socket_); }

std::optional<Connection> Listener::accept(double seconds) {
    if (!is_readable(socket_, seconds)) return std::nullopt;
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return std::nullopt;
    return Connection(socket);
}

}  // namespace tutti
