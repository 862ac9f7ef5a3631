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

[[noreturn]] void refuse(const Settings& asked, const char* name, const char* expected) {
    throw Error(fmt::format("--{} {} is not {}", name, asked.text(name), expected));
}

std::vector<std::optional<int>> servers_of(const Settings& asked) {
    std::vector<std::optional<int>> servers;
    for (const std::string& part : parts_of(asked.text("servers"))) {
        if (part == "all") {
            servers.emplace_back();
            continue;
        }
        const auto number = number_in<int>(part);
        if (!number || *number < 1)
            refuse(asked, "servers", "a list of numbers from 1 on, or all: for example 1,4,all");
        servers.push_back(number);
    }
    return servers;
}

std::vector<bool> modes_of(const Settings& asked) {
    std::vector<bool> synchronous;
    for (const std::string& part : parts_of(asked.text("mode"))) {
        if (part != "sync" && part != "async") refuse(asked, "mode", "sync, async or sync,async");
        synchronous.push_back(part == "sync");
    }
    return synchronous;
}

void read_slow_rank(const Settings& asked, ServerChoice& choice) {
    const std::string& text = asked.text("slow-rank");
    if (text == "none") return;
    const auto colon = text.find(':');
    const auto rank = number_in<int>(std::string_view(text).substr(0, colon));
    const auto times = colon == text.npos
                           ? std::nullopt
                           : number_in<double>(std::string_view(text).substr(colon + 1));
    if (!rank || *rank < 0 || !times || !(*times >= 1) || !(*times <= 1000))
        refuse(asked, "slow-rank",
               "RANK:TIMES, such as 3:3 for rank 3 three times slower; or none");
    choice.slow = Rank{*rank};
    choice.slow_times = *times;
}

}  // namespace

std::span<const SettingRow> server_settings() { return rows; }

ServerChoice server_choice(const Settings& asked) {
    ServerChoice choice;
    choice.servers = servers_of(asked);
    choice.synchronous = modes_of(asked);
    if (asked.text("staleness-bound") != "none") {
        const auto bound = number_in<std::int64_t>(asked.text("staleness-bound"));
        if (!bound || *bound < 0) refuse(asked, "staleness-bound", "a number from 0 on, or none");
        choice.staleness_bound = bound;
    }
    choice.dropped = static_cast<int>(asked.number("drop-slowest", 0, 1000));
    read_slow_rank(asked, choice);
    choice.batch = static_cast<int>(asked.number("batch", 1, 1000));
    choice.row = asked.number("row", 1, 10000);
    return choice;
}

std::vector<ServerMode> server_ways(const ServerChoice& choice, int ranks) {
    if (choice.dropped >= ranks)
        throw Error(fmt::format("--drop-slowest {} leaves none of the {} ranks; type {} at most",
                                choice.dropped, ranks, ranks - 1));
    if (choice.slow && choice.slow->index >= ranks)
        throw Error(
            fmt::format("--slow-rank {}: there are ranks 0 to {}", choice.slow->index, ranks - 1));
    std::vector<ServerMode> ways;
    for (const auto& servers : choice.servers) {
        const int count = servers.value_or(ranks);
        if (count > ranks)
            throw Error(fmt::format(
                "--servers {} is more than the {} ranks; type all for one on each", count, ranks));
        for (const bool synchronous : choice.synchronous) {
            ServerMode way;
            way.name =
                fmt::format("{} server{} {}", servers ? std::to_string(count) : "all",
                            count > 1 || !servers ? "s" : "", synchronous ? "sync" : "async");
            way.architecture.servers = count;
            way.architecture.rules = {.workers = ranks, .is_synchronous = synchronous};
            if (!synchronous) way.architecture.rules.staleness_bound = choice.staleness_bound;
            ways.push_back(way);
            if (choice.slow) {
                way.name += ", slowed";
                way.architecture.slow = choice.slow;
                way.architecture.slow_times = choice.slow_times;
                ways.push_back(way);
            }
            if (synchronous && choice.dropped > 0) {
                way.name += fmt::format(", dropping {}", choice.dropped);
                way.architecture.rules.dropped = choice.dropped;
                ways.push_back(way);
            }
        }
    }
    return ways;
}

}  // namespace tutti
