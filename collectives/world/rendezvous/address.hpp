// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/open_file.hpp"

namespace tutti {

/// Where a rank listens.
struct TcpAddress {
    std::string host;  ///< a name, or an IPv4 or IPv6 address
    int port = 0;
};

/// "tcp://node3:29500", "tcp://[::1]:29500". Throws Error that says what to type instead.
TcpAddress parse_tcp_address(std::string_view text);
std::string to_string(const TcpAddress& address);

/// A socket that listens at this port (0: any that is free): within this host alone if the address
/// is the loopback's, else on all interfaces, as the name may mean another address here than
/// elsewhere. Throws Error, in words for a user, if that cannot be.
OpenFile listen_at(const TcpAddress& address);

/// A connection, or why there is none within so many milliseconds: `socket` is then negative.
struct ConnectAttempt {
    OpenFile socket;
    std::string problem;
    bool is_refused = false;  ///< the host is there, but nobody listens
};
ConnectAttempt try_connect(const TcpAddress& address, int milliseconds = 2000);

/// The next pending connection of a socket that listens; negative if there is none.
OpenFile accept_pending(int listening);

/// Numeric addresses of both ends of a connection; with the port 0.
TcpAddress own_end(int socket);
TcpAddress far_end(int socket);
int port_of(int socket);
bool is_loopback(const TcpAddress& address);

}  // namespace tutti
