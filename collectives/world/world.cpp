// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "base/index.hpp"

namespace tutti {
namespace {

std::mutex activity_mutex;
std::string current_activity;

}  // namespace

std::unique_ptr<World> World::split(std::optional<int>) {
    throw Error("ranks of kind '" + std::string(kind()) + "' cannot be split into groups");
}

std::unique_ptr<World> World::of_host() {
    return one_host() ? nullptr : split(ranks_of_host().front().index);
}

const std::vector<Rank>& World::ranks_of_host() const {
    return *std::ranges::find_if(hosts().nodes(), [&](const std::vector<Rank>& host) {
        return std::ranges::find(host, rank()) != host.end();
    });
}

std::vector<Rank> ranks_of_group(World& world, std::optional<int> group) {
    constexpr std::int64_t none = INT64_MIN;
    const auto named = gather_all<std::int64_t>(world, group ? *group : none);
    std::vector<Rank> ranks;
    for (std::size_t rank = 0; group && rank < named.size(); ++rank)
        if (named[rank] == *group) ranks.push_back({static_cast<int>(rank)});
    return ranks;
}

void fail_together(World& world, const std::string& what, const char* problem) {
    struct Text {
        char text[160];
    } mine{};
    if (problem != nullptr) std::strncpy(mine.text, problem, sizeof mine.text - 1);
    for (const Text& of_rank : gather_all(world, mine))
        if (of_rank.text[0] != '\0') throw Error(what + ": " + of_rank.text);
}

std::optional<std::string> missing_on_any(World& world, const std::optional<std::string>& here) {
    const auto reasons = gather_all_texts(world, here.value_or(""));
    const auto lacks = [](const std::string& reason) { return !reason.empty(); };
    const auto first = std::ranges::find_if(reasons, lacks);
    if (first == reasons.end()) return std::nullopt;
    if (std::ranges::all_of(reasons, lacks)) return *first;
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    const auto rank = as_size(first - reasons.begin());
    return *first + " (rank " + std::to_string(rank) + " on " +
           gather_all_texts(world, host)[rank] + ", but other ranks have it)";
}

std::vector<std::string> gather_all_texts(World& world, const std::string& mine) {
    const auto sizes = gather_all(world, mine.size());
    const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
    std::string padded = mine;
    padded.resize(longest);
    std::vector<std::byte> all(longest * sizes.size());
    world.all_gather(std::as_bytes(std::span(padded)), all);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
        texts.emplace_back(reinterpret_cast<const char*>(all.data()) + rank * longest, sizes[rank]);
    return texts;
}

std::string one_of(std::span<const Rank> ranks) {
    std::string words = ranks.size() == 1 ? "rank " : "one of ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i)
        words += (i == 0 ? "" : ", ") + std::to_string(ranks[i].index);
    return words;
}

std::string waited_for(const World& world, const std::string& what, double times,
                       std::span<const Rank> absent) {
    std::string who;
    for (const Rank rank : absent) who += (who.empty() ? "" : ", ") + std::to_string(rank.index);
    return fmt::format(
        "rank {} waited {:g} s for {}{}: {}", world.rank().index, world.hang_timeout * times, what,
        in_activity(),
        absent.empty()
            ? "all ranks are alive but in different calls"
            : (absent.size() == 1 ? "no answer from rank " : "no answer from ranks ") + who);
}

void set_activity(const std::string& what) {
    const std::lock_guard lock(activity_mutex);
    current_activity = what;
}

std::string activity() {
    const std::lock_guard lock(activity_mutex);
    return current_activity;
}

std::string in_activity() {
    const std::string what = activity();
    return what.empty() ? what : " in " + what;
}

}  // namespace tutti
