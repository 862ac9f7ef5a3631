// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/open_file.hpp"

namespace tutti {

/// The address at which a rank listens.
struct TcpAddress {
    std::string host;  ///< a name, or an IPv4 or IPv6 address
    int port = 0;
};

/// Parses "tcp://node3:29500" or "tcp://[::1]:29500". Throws Error that shows the right form.
TcpAddress parse_tcp_address(std::string_view text);
std::string to_string(const TcpAddress& address);

/// Returns a socket that listens at this port (0: any free one). If the address is the loopback's,
/// only this host can connect; else it listens on all interfaces, because the name may mean another
/// address here than elsewhere. Throws Error on failure.
OpenFile listen_at(const TcpAddress& address);

/// A connection, or the reason of a failure; `socket` is then negative.
struct ConnectAttempt {
    OpenFile socket;
    std::string problem;
    bool is_refused = false;  ///< the host answers, but no process listens
};
ConnectAttempt try_connect(const TcpAddress& address, int milliseconds = 2000);

/// Accepts the next pending connection of a listening socket; negative if there is none.
OpenFile accept_pending(int listening);

/// Return the numeric addresses of both ends of a connection, with port 0.
TcpAddress own_end(int socket);
TcpAddress far_end(int socket);
int port_of(int socket);
bool is_loopback(const TcpAddress& address);

}  // namespace tutti
