// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/changed_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/units.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

namespace {

constexpr std::size_t drawn_steps = 16;

// Returns a number from 0 to 1 for each step.
std::vector<double> drawn(std::mt19937_64& random) {
    std::vector<double> shares(drawn_steps);
    // Distributions of the standard differ between libraries.
    for (double& share : shares) share = static_cast<double>(random() >> 11) * 0x1p-53;
    return shares;
}

std::int64_t scaled_time(std::int64_t ns, double factor) {
    return std::llround(static_cast<double>(ns) * factor);
}

}  // namespace

std::string Skew::to_string() const {
    std::string words;
    const auto add = [&](const std::string& one) {
        words += fmt::format("{}{}", words.empty() ? "" : " ", one);
    };
    if (late_ns > 0) add(fmt::format("skew={:g}ms", static_cast<double>(late_ns) * 1e-6));
    if (share > 0) add(fmt::format("skew={:g}%", share * 100));
    if (slow) add(fmt::format("slow-rank={}:{:g}", slow->index, slow_factor));
    return words;
}

Skew with_skew(Skew skew, std::string_view text) {
    try {
        if (text.ends_with('%'))
            skew.share = parse_fraction(text);
        else
            skew.late_ns = std::llround(parse_seconds(text) * 1e9);
    } catch (const Error&) {
        throw Error(
            fmt::format("--skew {} is neither a time nor a share; use e.g. 2ms or 10%", text));
    }
    if (skew.late_ns < 0 || skew.share < 0)
        throw Error(fmt::format("--skew {} is negative; use e.g. 2ms or 10%", text));
    return skew;
}

Skew with_slow_rank(Skew skew, std::string_view text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto rank = number_in<int>(text.substr(0, colon));
    const auto factor = number_in<double>(text.substr(std::min(colon + 1, text.size())));
    if (!rank || *rank < 0 || !factor || !(*factor >= 1) || *factor > 1000)
        throw Error(fmt::format(
            "--slow-rank {} is not RANK:TIMES with TIMES from 1 to 1000, e.g. 1:3", text));
    skew.slow = Rank{*rank};
    skew.slow_factor = *factor;
    return skew;
}

Program skewed(const Program& program, const Skew& skew) {
    if (skew.slow && skew.slow->index >= program.ranks())
        throw Error(fmt::format("--slow-rank {}: there are ranks 0 to {}", skew.slow->index,
                                program.ranks() - 1));
    Program result = program;
    result.tasks.clear();
    result.role_of.clear();  // no two ranks are alike
    std::mt19937_64 random{skew.seed};
    for (int rank = 0; rank < program.ranks(); ++rank) {
        const auto longer = drawn(random), late = drawn(random);
        const double factor = skew.factor_of(Rank{rank});
        auto& tasks = result.tasks.emplace_back(program.tasks_of(Rank{rank}));
        for (Task& task : tasks) {
            if (task.kind != Task::Kind::compute) continue;
            std::vector<std::int64_t> ns(std::lcm(task.compute_ns.size(), drawn_steps));
            for (std::size_t step = 0; step < ns.size(); ++step)
                ns[step] = scaled_time(task.compute_ns[step % task.compute_ns.size()],
                                       factor * (1 + skew.share * longer[step % drawn_steps]));
            task.compute_ns = std::move(ns);
        }
        if (skew.late_ns == 0) continue;
        Task wait{.kind = Task::Kind::compute, .phase = Task::Phase::forward};
        for (const double share : late) wait.compute_ns.push_back(scaled_time(skew.late_ns, share));
        tasks.insert(tasks.begin(), std::move(wait));
    }
    return result;
}

void stretch(Program& program, double factor) {
    for (auto& tasks : program.tasks)
        for (Task& task : tasks)
            for (std::int64_t& ns : task.compute_ns)
                ns = std::llround(static_cast<double>(ns) * factor);
}

Program repeated(const Program& program, int times) {
    if (times == 1) return program;
    Program all = program;
    const int calls = static_cast<int>(program.calls.size());
    // Every call is waited for between two rounds, so the rounds can share one memory.
    for (int call = 0; call < calls; ++call) {
        int& memory = at(all.calls, call).memory;
        if (memory < 0) memory = (1 << 20) + call;
    }
    const auto first_round = std::move(all.calls);
    all.calls.clear();
    for (auto& tasks : all.tasks) tasks.clear();
    // Step k now has the recorded steps k times to k times + times - 1.
    const auto of_round = [times](const auto& recorded, int round) {
        auto steps = recorded;
        for (std::size_t k = 0; k < steps.size(); ++k)
            steps[k] = recorded[(k * as_size(times) + as_size(round)) % recorded.size()];
        return steps;
    };
    for (int round = 0; round < times; ++round) {
        for (GroupCall call : first_round) {
            call.of_steps = of_round(call.of_steps, round);
            all.calls.push_back(std::move(call));
        }
        for (std::size_t role = 0; role < program.tasks.size(); ++role)
            for (Task task : program.tasks[role]) {
                if (task.call >= 0) task.call += round * calls;
                task.compute_ns = of_round(task.compute_ns, round);
                all.tasks[role].push_back(std::move(task));
            }
    }
    return all;
}

}  // namespace tutti
