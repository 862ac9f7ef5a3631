// SPDX-License-Identifier: Apache-2.0
#include "results/summary/setups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/index.hpp"
#include "results/stored/fingerprint.hpp"

namespace tutti {
namespace {

constexpr std::string_view machine = "machine";
constexpr std::string_view environment = "environment: ";
// Facts that readers ask for first.
constexpr std::string_view first_facts[] = {"MPI",   "UCX",   "NCCL",  "GPU",
                                            machine, "tutti", "kernel"};

std::string value_of(const auto& facts, std::string_view name) {
    for (const auto& [fact, value] : facts)
        if (fact == name) return value;
    return "";
}

std::string joined(const auto& records, auto text) {
    std::set<std::string> texts;
    for (const auto& record : records) texts.insert(text(record));
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string text_of(const std::optional<Library>& library, std::string_view name) {
    if (!library) return "";
    return fmt::format("{} {}", library->vendor.empty() ? name : library->vendor, library->version);
}

std::string plan_of(const Session& session, const char* option) {
    const auto found = session.plan.find(option);
    return found == session.plan.end() ? "" : found->second;
}

}  // namespace

Setups::Setups(std::span<const Results> launches) {
    for (const Results& one : launches) {
        const Facts facts = facts_of(one.launches.front(), one.sessions.front());
        auto known =
            std::ranges::find_if(setups_, [&](const Facts& setup) { return agree(setup, facts); });
        if (known == setups_.end()) known = setups_.insert(known, facts);
        for (const auto& fact : facts)
            if (value_of(*known, fact.first).empty()) known->push_back(fact);
        const auto& some =
            one.points.empty() ? launch_of(one.steps.front()) : launch_of(one.points.front());
        setup_of_[some] = static_cast<int>(known - setups_.begin());
    }
}

Setups::Facts Setups::facts_of(const Launch& launch, const Session& session) {
    const Tool& tool = session.tool;
    Facts facts;
    const auto add = [&](std::string_view name, std::string value) {
        if (!value.empty()) facts.emplace_back(name, std::move(value));
    };
    add(machine, joined(launch.hosts, [](const HostRecord& host) {
            return host.cpu_model + (host.cores > 0 ? fmt::format(", {} cores", host.cores) : "");
        }));
    add("hosts", launch.hosts.empty() ? "" : std::to_string(launch.hosts.size()));
    add("kernel", joined(launch.hosts, [](const HostRecord& host) { return host.kernel; }));
    add("topology", launch.topo_sha256.substr(0, 8));
    add("GPU", joined(launch.gpus, [](const Gpu& gpu) { return gpu.model; }));
    add("tutti", fmt::format("{} {}{} {} {}", tool.version, tool.git, tool.dirty ? "+changes" : "",
                             tool.build_type, tool.compiler));
    add("start", plan_of(session, "sync"));
    add("pinning", plan_of(session, "pin"));
    add("MPI", text_of(launch.mpi, "MPI"));
    add("UCX", text_of(launch.ucx, "UCX"));
    add("NCCL", text_of(launch.nccl, "NCCL"));
    add("CUDA", launch.cuda ? launch.cuda->driver : "");
    for (const auto& [name, value] : launch.env)
        if (decides_performance(name)) facts.emplace_back(std::string(environment) + name, value);
    return facts;
}

bool Setups::agree(const Facts& some, const Facts& others) {
    const auto covers = [](const Facts& one, const Facts& other) {
        return std::ranges::all_of(one, [&](const auto& fact) {
            const std::string theirs = value_of(other, fact.first);
            return theirs == fact.second ||
                   (theirs.empty() && !fact.first.starts_with(environment));
        });
    };
    return covers(some, others) && covers(others, some);
}

std::map<LaunchId, std::string> Setups::names_of(std::span<const LaunchId> launches) {
    std::set<int> found;
    for (const LaunchId& launch : launches) found.insert(setup_of_.at(launch));
    const std::vector<int> rivals(found.begin(), found.end());
    std::map<LaunchId, std::string> names;
    if (rivals.size() > 1)
        for (const int setup : rivals)
            if (std::ranges::find(named_, setup) == named_.end()) named_.push_back(setup);
    for (const LaunchId& launch : launches)
        names[launch] = rivals.size() < 2 ? "" : name_of_setup(setup_of_.at(launch), rivals);
    return names;
}

std::vector<Setups::Difference> Setups::differences() const {
    std::vector<Difference> all;
    for (const std::string& fact : differing_facts(named_)) {
        Difference& difference = all.emplace_back(Difference{fact, {}});
        for (const int setup : named_)
            difference.values.emplace_back(letter_of(setup),
                                           value_of(setups_[as_size(setup)], fact));
    }
    return all;
}

std::vector<std::string> Setups::differing_facts(std::span<const int> setups) const {
    std::vector<std::string> facts;
    for (const int setup : setups)
        for (const auto& [fact, value] : setups_[as_size(setup)]) {
            const auto differs = [&](int other) {
                return value_of(setups_[as_size(other)], fact) != value;
            };
            if (std::ranges::find(facts, fact) == facts.end() &&
                std::ranges::any_of(setups, differs))
                facts.push_back(fact);
        }
    std::ranges::stable_sort(facts, {}, [](const std::string& fact) {
        return std::ranges::find(first_facts, fact) - std::begin(first_facts);
    });
    return facts;
}

std::string Setups::letter_of(int setup) const {
    const auto place = std::ranges::find(named_, setup) - named_.begin();
    return place < 26 ? std::string(1, static_cast<char>('A' + place)) : std::to_string(place);
}

std::string Setups::name_of_setup(int setup, std::span<const int> rivals) const {
    const std::string fact = differing_facts(rivals).front();
    std::string value = value_of(setups_[as_size(setup)], fact);
    if (value.empty()) value = "none";
    const bool is_known = std::ranges::find(first_facts, fact) != std::end(first_facts);
    return fmt::format("setup {}: {}", letter_of(setup), is_known ? value : fact + " " + value)
        .substr(0, 60);
}

}  // namespace tutti
