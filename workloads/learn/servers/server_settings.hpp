// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/learn/servers/server_trainer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

/// What `tutti workload parameter-server` can be asked for.
std::span<const SettingRow> server_settings();

/// The same, understood.
struct ServerOptions {
    std::vector<std::optional<int>> servers;  ///< none: as many as ranks
    std::vector<bool> synchronous;
    std::optional<std::int64_t> staleness_bound;
    int dropped = 0;
    std::optional<Rank> slow;
    double slow_times = 1;
    int batch = 32;
    std::int64_t batch = 8;
};

/// Throws Error, one line that says what to type instead.
ServerOptions server_options(const Settings& settings);

/// A method to train, of those that alternate.
struct ServerMode {
    std::string name;
    Architecture architecture;
};

/// All architectures in each mode: undisturbed; with the slow rank, if one is asked for; and then
/// leaving the slowest behind. Throws Error where there are too few ranks.
std::vector<ServerMode> server_modes(const ServerOptions& options, int ranks);

}  // namespace tutti
