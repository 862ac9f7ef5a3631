// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "workloads/learn/data_parallel/training_settings.hpp"
#include "workloads/learn/servers/server_trainer.hpp"

namespace tutti {
namespace {

constexpr SettingRow rows[] = {
    network_setting,
    {"servers", "Numbers of servers, a list; all: one on every rank", "1,all"},
    {"mode",
     "Modes, a list: sync (average the gradients of a step), async (apply each as it arrives)",
     "sync,async"},
    {"staleness-bound", "Most steps that a worker may be ahead of the slowest (async), or none",
     "none"},
    {"drop-slowest", "Number of late gradients per step to discard instead of waiting (sync)", "0"},
    {"slow-rank", "Slow rank, R:F: rank R computes F times as long, or none", "none"},
    {"messages",
     "Transport between workers and servers: mpi, ucx; auto: mpi, or loopback for threads", "auto"},
    {"batch", "Rows per step, shared by all workers", "32"},
    {"epochs", "Training epochs after the timing; auto: enough for the network", "auto"},
    {"optimizer", "Optimizer of the servers: sgd (momentum 0.9) or adam", "sgd"},
    {"learning-rate",
     "Initial learning rate, falling to 0 in the second half; auto: the optimizer's default",
     "auto"},
    {"row", "Steps per timed sample, without barriers in between", "8"},
};

std::vector<std::optional<int>> servers_of(const Settings& settings) {
    std::vector<std::optional<int>> servers;
    for (const std::string& part : settings.list("servers")) {
        const auto number = number_in<int>(part);
        if (part != "all" && (!number || *number < 1))
            settings.refuse("servers", "a list of numbers >= 1, or all; for example 1,4,all");
        servers.push_back(number);
    }
    return servers;
}

std::vector<ServerUpdates> updates_of(const Settings& settings) {
    std::vector<ServerUpdates> all;
    for (const std::string& part : settings.list("mode")) {
        if (part != "sync" && part != "async") settings.refuse("mode", "sync, async or sync,async");
        all.push_back(part == "sync" ? ServerUpdates::synchronous : ServerUpdates::asynchronous);
    }
    return all;
}

}  // namespace

std::span<const SettingRow> server_settings() { return rows; }

ServerOptions server_options(const Settings& settings) {
    ServerOptions options;
    options.servers = servers_of(settings);
    options.updates = updates_of(settings);
    if (settings.text("staleness-bound") != "none") try {
            options.staleness_bound =
                settings.number("staleness-bound", 0, std::numeric_limits<std::int64_t>::max());
        } catch (const Error&) {
            settings.refuse("staleness-bound", "a number >= 0, or none");
        }
    options.dropped = static_cast<int>(settings.number("drop-slowest", 0, 1000));
    if (const std::string& slow = settings.text("slow-rank"); slow != "none")
        options.skew = with_slow_rank({}, slow);
    options.batch = static_cast<int>(settings.number("batch", 1, 1000));
    options.steps_per_sample = settings.number("row", 1, 10000);
    return options;
}

std::vector<ServerMode> server_modes(const ServerOptions& options, int ranks) {
    if (options.dropped >= ranks)
        throw Error(fmt::format("--drop-slowest {} leaves none of the {} ranks; use at most {}",
                                options.dropped, ranks, ranks - 1));
    if (options.skew.slow && options.skew.slow->index >= ranks)
        throw Error(fmt::format("--slow-rank {}: there are ranks 0 to {}", options.skew.slow->index,
                                ranks - 1));
    std::vector<ServerMode> modes;
    for (const auto& servers : options.servers) {
        const int count = servers.value_or(ranks);
        if (count > ranks)
            throw Error(
                fmt::format("--servers {} is more than the {} ranks; use all for one on each rank",
                            count, ranks));
        for (const ServerUpdates updates : options.updates) {
            const bool synchronous = updates == ServerUpdates::synchronous;
            ServerMode mode;
            mode.name =
                fmt::format("{} server{} {}", servers ? std::to_string(count) : "all",
                            count > 1 || !servers ? "s" : "", synchronous ? "sync" : "async");
            mode.architecture.servers = count;
            mode.architecture.rules = {.workers = ranks, .updates = updates};
            if (!synchronous) mode.architecture.rules.staleness_bound = options.staleness_bound;
            modes.push_back(mode);
            if (options.skew.slow) {
                mode.name += ", slowed";
                mode.architecture.skew = options.skew;
                modes.push_back(mode);
            }
            if (synchronous && options.dropped > 0) {
                mode.name += fmt::format(", dropping {}", options.dropped);
                mode.architecture.rules.dropped = options.dropped;
                modes.push_back(mode);
            }
        }
    }
    return modes;
}

}  // namespace tutti
