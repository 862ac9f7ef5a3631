// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/server_settings.hpp"

#include <fmt/format.h>

#include <limits>

#include "workloads/learn/data_parallel/training_settings.hpp"

namespace tutti {
namespace {

constexpr SettingRow rows[] = {
    network_setting,
    {"servers", "how many share the weights, a list; all: every rank serves", "1,all"},
    {"mode", "sync (a step's gradients averaged), async (each applied as it comes), a list",
     "sync,async"},
    {"staleness-bound", "async: nobody is more steps ahead of the slowest than this; none", "none"},
    {"drop-slowest", "sync: a step does not wait for so many gradients, which are discarded", "0"},
    {"slow-rank", "RANK:TIMES: this rank computes so many times slower; none", "none"},
    {"messages", "between workers and servers: mpi, ucx; auto: mpi, or between threads loopback",
     "auto"},
    {"batch", "rows of a step, shared by all workers", "32"},
    {"epochs", "to train, after the timing; auto: what the network needs", "auto"},
    {"optimizer", "of the servers: sgd (momentum 0.9), adam", "sgd"},
    {"learning-rate", "at first; falls to nothing in the second half; auto: the optimizer's",
     "auto"},
    {"row", "steps of a timed sample, without a barrier in between", "8"},
};

std::vector<std::optional<int>> servers_of(const Settings& settings) {
    std::vector<std::optional<int>> servers;
    for (const std::string& part : settings.list("servers")) {
        const auto number = number_in<int>(part);
        if (part != "all" && (!number || *number < 1))
            settings.refuse("servers", "a list of numbers from 1 on, or all: for example 1,4,all");
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
            settings.refuse("staleness-bound", "a number from 0 on, or none");
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
        throw Error(fmt::format("--drop-slowest {} leaves none of the {} ranks; type {} at most",
                                options.dropped, ranks, ranks - 1));
    if (options.skew.slow && options.skew.slow->index >= ranks)
        throw Error(fmt::format("--slow-rank {}: there are ranks 0 to {}", options.skew.slow->index,
                                ranks - 1));
    std::vector<ServerMode> modes;
    for (const auto& servers : options.servers) {
        const int count = servers.value_or(ranks);
        if (count > ranks)
            throw Error(fmt::format(
                "--servers {} is more than the {} ranks; type all for one on each", count, ranks));
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
