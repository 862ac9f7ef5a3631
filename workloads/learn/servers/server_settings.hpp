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
struct ServerChoice {
    std::vector<std::optional<int>> servers;  ///< none: as many as ranks
    std::vector<bool> synchronous;
    std::optional<std::int64_t> staleness_bound;
    int dropped = 0;
    std::optional<Rank> slow;
    double slow_times = 1;
    int batch = 32;
    std::int64_t row = 8;
};

/// Throws Error, one line that says what to type instead.
ServerChoice server_choice(const Settings& asked);

/// A way to train, of those that alternate.
struct ServerMode {
    std::string name;
    Architecture architecture;
};

/// All architectures in each mode: undisturbed; with the slow rank, if one is asked for; and then
/// leaving the slowest behind. Throws Error where there are too few ranks.
std::vector<ServerMode> server_ways(const ServerChoice& choice, int ranks);

}  // namespace tutti
