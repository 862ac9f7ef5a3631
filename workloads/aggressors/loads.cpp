// SPDX-License-Identifier: Apache-2.0
#include "workloads/aggressors/loads.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "collectives/world/rendezvous/address.hpp"

namespace tutti {
namespace {

constexpr std::size_t bytes_of_half = std::size_t{128} << 20;  // more than a last-level cache
constexpr std::size_t bytes_of_message = std::size_t{1} << 20;

void wait_for(int socket, short events) {
    pollfd one{.fd = socket, .events = events, .revents = 0};
    ::poll(&one, 1, -1);
}

// Reads what has arrived. Returns false if the peer has closed the connection.
bool drop_arrived(int socket, std::vector<std::byte>& buffer) {
    const ssize_t now = ::recv(socket, buffer.data(), buffer.size(), 0);
    return now > 0 || (now < 0 && (errno == EAGAIN || errno == EINTR));
}

[[noreturn]] void send_to(int socket) {
    const std::vector<std::byte> message(bytes_of_message);
    while (true) {
        wait_for(socket, POLLOUT);
        const ssize_t now = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
        if (now < 0 && errno != EAGAIN && errno != EINTR)
            throw Error(
                fmt::format("the receiver closed the connection ({})", std::strerror(errno)));
    }
}

TcpAddress parse_target(const std::string& text) { return parse_tcp_address("tcp://" + text); }

}  // namespace

void keep_memory_busy() {
    std::vector<std::byte> from(bytes_of_half, std::byte{1}), to(bytes_of_half);
    while (true) {
        std::memcpy(to.data(), from.data(), bytes_of_half);
        asm volatile("" ::"r"(to.data()) : "memory");  // keeps the compiler from leaving it out
        std::swap(from, to);
    }
}

void keep_core_busy() {
    for (std::uint64_t value = 1;;) {
        value = value * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(value));
    }
}

void receive_for_ever(const std::function<void(int port)>& announce) {
    const OpenFile listening = listen_at({.host = "0.0.0.0", .port = 0});
    announce(port_of(listening.number));
    std::vector<std::byte> buffer(bytes_of_message);
    while (true) {
        wait_for(listening.number, POLLIN);
        const OpenFile peer = accept_pending(listening.number);
        if (!peer) continue;
        do wait_for(peer.number, POLLIN);
        while (drop_arrived(peer.number, buffer));
    }
}

void send_for_ever(const std::vector<std::string>& addresses,
                   const std::function<void()>& announce) {
    std::string problem;
    for (const std::string& address : addresses) {
        const ConnectAttempt attempt = try_connect(parse_target(address));
        if (attempt.socket) {
            announce();
            send_to(attempt.socket.number);
        }
        problem = attempt.problem;
    }
    throw Error(fmt::format("no connection to {} ({}); start 'tutti aggressor network' there",
                            fmt::join(addresses, " or "), problem));
}

std::vector<std::string> addresses_of_host() {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all{found, &freeifaddrs};
    std::vector<std::string> addresses;
    for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
        const bool is_usable = (one->ifa_flags & IFF_UP) != 0 &&
                               (one->ifa_flags & IFF_LOOPBACK) == 0 && one->ifa_addr != nullptr &&
                               one->ifa_addr->sa_family == AF_INET;
        char text[INET_ADDRSTRLEN] = {};
        if (is_usable &&
            inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
                      sizeof text) != nullptr)
            addresses.emplace_back(text);
    }
    return addresses;
}

}  // namespace tutti
