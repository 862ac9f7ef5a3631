// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/source.hpp"

namespace tutti {
namespace {

constexpr std::string_view scheme = "tcp://";

[[noreturn]] void refuse(std::string_view text) {
    throw Error("'" + std::string(text) +
                "' is not a rendezvous address; use tcp://HOST:PORT with the host of rank 0 "
                "and a free port there, e.g. tcp://node3:29500");
}

void set(int socket, int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
}

// Sends small messages at once, and detects a host that was switched off within about 5 s.
void set_up(int socket) {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
}

using FoundAddresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Resolves the address; returns null with the reason in `problem` on failure.
FoundAddresses resolve(const TcpAddress& address, std::string& problem) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int code =
        getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    if (code != 0) problem = "its name cannot be resolved: " + std::string(gai_strerror(code));
    return {code == 0 ? found : nullptr, &freeaddrinfo};
}

// Connects within `milliseconds`; errno holds the reason of a failure.
bool connects(int socket, const addrinfo& to, int milliseconds) {
    if (connect(socket, to.ai_addr, to.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
    const std::int64_t began = now_ns();
    int left = milliseconds;
    while (poll(&ready, 1, left) <= 0) {
        left = milliseconds - static_cast<int>((now_ns() - began) / 1'000'000);
        if (errno == EINTR && left > 0) continue;
        errno = ETIMEDOUT;
        return false;
    }
    socklen_t length = sizeof errno;
    int problem = 0;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &length);
    errno = problem;
    return problem == 0;
}

// Whether the socket is connected to itself, as happens in TCP if the port chosen for this end is
// the requested one.
bool is_connected_to_itself(int socket) {
    sockaddr_storage own{}, far{};
    socklen_t own_length = sizeof own, far_length = sizeof far;
    getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length);
    getpeername(socket, reinterpret_cast<sockaddr*>(&far), &far_length);
    return std::memcmp(&own, &far, sizeof own) == 0;
}

TcpAddress numeric(const sockaddr_storage& end, socklen_t length) {
    char host[NI_MAXHOST] = {};
    getnameinfo(reinterpret_cast<const sockaddr*>(&end), length, host, sizeof host, nullptr, 0,
                NI_NUMERICHOST);
    std::string name = host;
    if (name.starts_with("::ffff:")) name.erase(0, 7);  // IPv4 address on a dual-stack socket
    return {.host = name, .port = 0};
}

bool listens(int socket, const sockaddr* at, socklen_t length) {
    return socket >= 0 && bind(socket, at, length) == 0 && listen(socket, SOMAXCONN) == 0;
}

OpenFile new_socket(int family) {
    return OpenFile{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

// Listens on all interfaces, with IPv6 and IPv4 where the system has both.
OpenFile listen_everywhere(int port) {
    OpenFile both = new_socket(AF_INET6);
    if (both) {
        set(both.number, SOL_SOCKET, SO_REUSEADDR, 1);
        set(both.number, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    any6.sin6_port = htons(static_cast<std::uint16_t>(port));
    if (listens(both.number, reinterpret_cast<const sockaddr*>(&any6), sizeof any6)) return both;
    OpenFile four = new_socket(AF_INET);
    set(four.number, SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    any4.sin_port = htons(static_cast<std::uint16_t>(port));
    if (listens(four.number, reinterpret_cast<const sockaddr*>(&any4), sizeof any4)) return four;
    return OpenFile{-1};
}

}  // namespace

TcpAddress parse_tcp_address(std::string_view text) {
    if (!text.starts_with(scheme)) refuse(text);
    const std::string_view rest = text.substr(scheme.size());
    const auto colon = rest.rfind(':');
    if (colon == rest.npos || colon == 0) refuse(text);
    std::string_view host = rest.substr(0, colon);
    const std::string_view digits = rest.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty() || host.find_first_of("/[] ") != host.npos) refuse(text);
    const auto port = number_in<int>(digits);
    if (!port || *port < 0 || *port > 65535) refuse(text);
    return {.host = std::string(host), .port = *port};
}

std::string to_string(const TcpAddress& address) {
    const bool is_ipv6 = address.host.find(':') != std::string::npos;
    return std::string(scheme) + (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" +
           std::to_string(address.port);
}

bool is_loopback(const TcpAddress& address) {
    return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

OpenFile listen_at(const TcpAddress& address) {
    std::string problem;
    if (is_loopback(address)) {
        const FoundAddresses found = resolve(address, problem);
        for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
            OpenFile socket = new_socket(one->ai_family);
            if (socket) set(socket.number, SOL_SOCKET, SO_REUSEADDR, 1);
            if (listens(socket.number, one->ai_addr, one->ai_addrlen)) return socket;
            problem = std::strerror(errno);
        }
    } else {
        OpenFile socket = listen_everywhere(address.port);
        if (socket) return socket;
        problem = std::strerror(errno);
    }
    throw Error("rank 0 cannot listen at " + to_string(address) + ": " + problem +
                "; use another port");
}

ConnectAttempt try_connect(const TcpAddress& address, int milliseconds) {
    std::string problem;
    bool is_refused = false;
    const FoundAddresses found = resolve(address, problem);
    for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
        OpenFile socket = new_socket(one->ai_family);
        if (socket && connects(socket.number, *one, milliseconds)) {
            set_up(socket.number);
            if (!is_connected_to_itself(socket.number)) return {std::move(socket), ""};
            errno = ECONNREFUSED;  // no process listens there
        }
        is_refused = errno == ECONNREFUSED;
        problem = std::strerror(errno);
    }
    return {OpenFile{-1}, problem, is_refused};
}

OpenFile accept_pending(int listening) {
    OpenFile socket{accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (socket) set_up(socket.number);
    return socket;
}

TcpAddress own_end(int socket) {
    sockaddr_storage end{};
    socklen_t length = sizeof end;
    getsockname(socket, reinterpret_cast<sockaddr*>(&end), &length);
    return numeric(end, length);
}

TcpAddress far_end(int socket) {
    sockaddr_storage end{};
    socklen_t length = sizeof end;
    getpeername(socket, reinterpret_cast<sockaddr*>(&end), &length);
    return numeric(end, length);
}

int port_of(int socket) {
    sockaddr_storage end{};
    socklen_t length = sizeof end;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&end), &length) != 0) return 0;
    return ntohs(end.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(end).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(end).sin_port);
}

}  // namespace tutti
