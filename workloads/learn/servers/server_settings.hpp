// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/learn/servers/server_trainer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

/// The settings of `tutti workload parameter-server`.
std::span<const SettingRow> server_settings();

/// Their values.
struct ServerOptions {
    std::vector<std::optional<int>> servers;  ///< none: as many as ranks
    std::vector<ServerUpdates> updates;
    std::optional<std::int64_t> staleness_bound;
    int dropped = 0;
    Skew skew;  ///< of a slow rank, if any
    int batch = 32;
    std::int64_t steps_per_sample = 8;
};

/// Throws Error, one line that says what to type instead.
ServerOptions server_options(const Settings& settings);

/// A training method among those that alternate.
struct ServerMode {
    std::string name;
    Architecture architecture;
};

/// All architectures in each mode: undisturbed; with the slow rank, if there is one; and then
/// without waiting for the slowest. Throws Error where there are too few ranks.
std::vector<ServerMode> server_modes(const ServerOptions& options, int ranks);

}  // namespace tutti
