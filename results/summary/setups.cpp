// SPDX-License-Identifier: Apache-2.0
#include "results/summary/setups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/encoding.hpp"
#include "base/index.hpp"
#include "results/stored/fingerprint.hpp"

namespace tutti {
namespace {

constexpr std::string_view machine = "machine";
constexpr std::string_view environment = "environment: ";
constexpr std::size_t longest_name = 120;
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

std::string letter_at(std::size_t place) {
    return place < 26 ? std::string(1, static_cast<char>('A' + place)) : std::to_string(place);
}

}  // namespace

Setups::Setups(std::span<const Results> launches, std::span<const std::vector<LaunchId>> compared) {
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
    std::set<std::pair<int, int>> alike;  // rivals that no fact of telling_ tells apart yet
    for (const auto& table : compared) {
        const std::set<int> rivals = setups_of(table);
        if (rivals.size() > 1) named_.insert(rivals.begin(), rivals.end());
        for (const int one : rivals)
            for (const int other : rivals)
                if (one < other) alike.emplace(one, other);
    }
    for (const std::string& fact : differing_facts(named_)) {
        const auto told_apart = std::erase_if(alike, [&](const auto& pair) {
            return value_of(setups_[as_size(pair.first)], fact) !=
                   value_of(setups_[as_size(pair.second)], fact);
        });
        if (told_apart > 0) telling_.push_back(fact);
    }
    for (const int setup : named_)
        if (place_of(setup) == letters_.size()) letters_.push_back(values_of(setup));
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

std::map<LaunchId, std::string> Setups::names_of(std::span<const LaunchId> launches) const {
    const bool has_rivals = setups_of(launches).size() > 1;
    std::map<LaunchId, std::string> names;
    for (const LaunchId& launch : launches)
        names[launch] = has_rivals ? name_of_setup(setup_of_.at(launch)) : "";
    return names;
}

std::vector<Setups::Difference> Setups::differences() const {
    std::vector<Difference> all;
    for (const std::string& fact : differing_facts(named_)) {
        std::vector<std::set<std::string>> values(letters_.size());
        for (const int setup : named_)
            values[place_of(setup)].insert(value_of(setups_[as_size(setup)], fact));
        Difference& difference = all.emplace_back(Difference{fact, {}});
        for (std::size_t place = 0; place < values.size(); ++place)
            difference.values.emplace_back(letter_at(place),
                                           fmt::format("{}", fmt::join(values[place], "; ")));
    }
    return all;
}

std::set<int> Setups::setups_of(std::span<const LaunchId> launches) const {
    std::set<int> found;
    for (const LaunchId& launch : launches) found.insert(setup_of_.at(launch));
    return found;
}

std::vector<std::string> Setups::differing_facts(const std::set<int>& setups) const {
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

// The values of the facts that tell rivals apart.
std::vector<std::string> Setups::values_of(int setup) const {
    std::vector<std::string> values;
    for (const std::string& fact : telling_)
        values.push_back(value_of(setups_[as_size(setup)], fact));
    return values;
}

std::size_t Setups::place_of(int setup) const {
    return as_size(std::ranges::find(letters_, values_of(setup)) - letters_.begin());
}

std::string Setups::name_of_setup(int setup) const {
    std::vector<std::string> words;
    for (const std::string& fact : telling_) {
        const std::string value = value_of(setups_[as_size(setup)], fact);
        const bool is_known = std::ranges::find(first_facts, fact) != std::end(first_facts);
        words.push_back((is_known ? "" : fact + " ") + (value.empty() ? "none" : value));
    }
    std::string name =
        fmt::format("setup {}: {}", letter_at(place_of(setup)), fmt::join(words, ", "));
    if (name.size() <= longest_name) return name;
    return std::string(beginning_of(name, longest_name - 3)) + "...";
}

}  // namespace tutti
