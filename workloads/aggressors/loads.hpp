// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/name_table.hpp"

namespace tutti {

/// The resource that a program next to a job keeps busy.
enum class Load { memory, cpu, network };
template <>
struct NamesOf<Load> {
    static constexpr const char* kind = "load";
    static constexpr Named<Load> rows[] = {
        {Load::memory, "memory"}, {Load::cpu, "cpu"}, {Load::network, "network"}};
};

/// Copies between the halves of a buffer that no cache holds, until the process ends.
[[noreturn]] void keep_memory_busy();

/// Computes in registers until the process ends.
[[noreturn]] void keep_core_busy();

/// Receives on a free port and drops what arrives, until the process ends. `announce` gets the
/// port. Throws Error if it cannot listen.
[[noreturn]] void receive_for_ever(const std::function<void(int port)>& announce);

/// Sends as fast as TCP allows, to the first of these addresses ("HOST:PORT") that answers, until
/// the process ends. `announce` is called once one has answered. Throws Error if none answers, or
/// if the peer closes the connection.
[[noreturn]] void send_for_ever(const std::vector<std::string>& addresses,
                                const std::function<void()>& announce);

/// Returns the addresses of this host that other hosts may reach.
std::vector<std::string> addresses_of_host();

}  // namespace tutti
