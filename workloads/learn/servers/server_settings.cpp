// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/server_settings.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tutti {
namespace {

constexpr SettingRow rows[] = {
    {"network", "what learns the digits: logistic, mlp, cnn", "mlp"},
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
    {"row", "steps of a timed sample, without a meeting in between", "8"},
};

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts(1);
    for (const char letter : list) {
        if (letter == ',')
            parts.emplace_back();
        else
            parts.back() += letter;
    }
    return parts;
}

// A number as in "3" of the whole text, or nothing.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

[[noreturn]] void refuse(const Settings& settings, const char* name, const char* expected) {
    throw Error(fmt::format("--{} {} is not {}", name, settings.text(name), expected));
}

std::vector<std::optional<int>> servers_of(const Settings& settings) {
    std::vector<std::optional<int>> servers;
    for (const std::string& part : parts_of(settings.text("servers"))) {
        if (part == "all") {
            servers.emplace_back();
            continue;
        }
        const auto number = number_in<int>(part);
        if (!number || *number < 1)
            refuse(settings, "servers", "a list of numbers from 1 on, or all: for example 1,4,all");
        servers.push_back(number);
    }
    return servers;
}

std::vector<bool> modes_of(const Settings& settings) {
    std::vector<bool> synchronous;
    for (const std::string& part : parts_of(settings.text("mode"))) {
        if (part != "sync" && part != "async")
            refuse(settings, "mode", "sync, async or sync,async");
        synchronous.push_back(part == "sync");
    }
    return synchronous;
}

void read_slow_rank(const Settings& settings, ServerOptions& options) {
    const std::string& text = settings.text("slow-rank");
    if (text == "none") return;
    const auto colon = text.find(':');
    const auto rank = number_in<int>(std::string_view(text).substr(0, colon));
    const auto times = colon == text.npos
                           ? std::nullopt
                           : number_in<double>(std::string_view(text).substr(colon + 1));
    if (!rank || *rank < 0 || !times || !(*times >= 1) || !(*times <= 1000))
        refuse(settings, "slow-rank",
               "RANK:TIMES, such as 3:3 for rank 3 three times slower; or none");
    options.slow = Rank{*rank};
    options.slow_times = *times;
}

}  // namespace

std::span<const SettingRow> server_settings() { return rows; }

ServerOptions server_options(const Settings& settings) {
    ServerOptions options;
    options.servers = servers_of(settings);
    options.synchronous = modes_of(settings);
    if (settings.text("staleness-bound") != "none") {
        const auto bound = number_in<std::int64_t>(settings.text("staleness-bound"));
        if (!bound || *bound < 0)
            refuse(settings, "staleness-bound", "a number from 0 on, or none");
        options.staleness_bound = bound;
    }
    options.dropped = static_cast<int>(settings.number("drop-slowest", 0, 1000));
    read_slow_rank(settings, options);
    options.batch = static_cast<int>(settings.number("batch", 1, 1000));
    options.batch = settings.number("row", 1, 10000);
    return options;
}

std::vector<ServerMode> server_modes(const ServerOptions& options, int ranks) {
    if (options.dropped >= ranks)
        throw Error(fmt::format("--drop-slowest {} leaves none of the {} ranks; type {} at most",
                                options.dropped, ranks, ranks - 1));
    if (options.slow && options.slow->index >= ranks)
        throw Error(
            fmt::format("--slow-rank {}: there are ranks 0 to {}", options.slow->index, ranks - 1));
    std::vector<ServerMode> methods;
    for (const auto& servers : options.servers) {
        const int count = servers.value_or(ranks);
        if (count > ranks)
            throw Error(fmt::format(
                "--servers {} is more than the {} ranks; type all for one on each", count, ranks));
        for (const bool synchronous : options.synchronous) {
            ServerMode method;
            method.name =
                fmt::format("{} server{} {}", servers ? std::to_string(count) : "all",
                            count > 1 || !servers ? "s" : "", synchronous ? "sync" : "async");
            method.architecture.servers = count;
            method.architecture.rules = {.workers = ranks, .is_synchronous = synchronous};
            if (!synchronous) method.architecture.rules.staleness_bound = options.staleness_bound;
            methods.push_back(method);
            if (options.slow) {
                method.name += ", slowed";
                method.architecture.slow = options.slow;
                method.architecture.slow_times = options.slow_times;
                methods.push_back(method);
            }
            if (synchronous && options.dropped > 0) {
                method.name += fmt::format(", dropping {}", options.dropped);
                method.architecture.rules.dropped = options.dropped;
                methods.push_back(method);
            }
        }
    }
    return methods;
}

}  // namespace tutti
