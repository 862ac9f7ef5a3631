// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/stragglers.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "workloads/traces/arrival_log.hpp"

namespace tutti {
namespace {

constexpr double least_deviations = 4;

// The largest variance of values from `least` to `most` with this mean.
double most_variance(const CallSums& of) {
    return std::max(0.0, (of.most_ns - of.mean_ns) * (of.mean_ns - of.least_ns));
}

// Compares the calls of one call site, whose single times are not known. The rank that spends the
// least time in them is the one that the others wait for.
void compare_sums(const std::map<int, CallSums>& ranks, Stragglers& found) {
    const auto mean = [](const auto& one) { return one.second.mean_ns; };
    const auto [last, longest] = std::ranges::minmax_element(ranks, {}, mean);
    const auto calls = static_cast<double>(last->second.calls);
    const auto members = static_cast<double>(ranks.size());
    double waited = 0, variance = 0;
    for (const auto& [rank, sums] : ranks) {
        at(found.ranks, rank).calls += sums.calls;
        waited += sums.mean_ns - last->second.mean_ns;
        variance += most_variance(sums) / members;
    }
    found.calls += last->second.calls;
    found.spent_ns += calls * longest->second.mean_ns;
    if (waited == 0) return;
    RankArrivals& straggler = at(found.ranks, last->first);
    straggler.waited_least += last->second.calls;
    straggler.caused_wait_ns += calls * waited / (members - 1);
    // If all ranks are alike, the correlation of two is at least -1 / (members - 1). So the
    // difference between one and the mean of the others varies by at most this factor more.
    const double factor = members / (members - 1);
    straggler.deviation_ns =
        std::hypot(straggler.deviation_ns, factor * std::sqrt(calls * variance));
}

Stragglers compared(const ArrivalLog& log) {
    Stragglers found;
    for (const std::string& name : log.names) found.ranks.push_back({.name = name});
    for (const auto& [rank, fault] : log.faults) at(found.ranks, rank).fault = fault;
    found.is_summed = !log.sums.empty();
    found.has_times = found.is_summed || !log.times_ns.empty();
    for (const auto& [site, ranks] : log.sums) compare_sums(ranks, found);
    for (const auto& [call, times] : log.times_ns) {
        if (times.size() < 2 || times.size() != log.members.at(call.group)) continue;
        const auto by_time = [](const auto& one) { return one.second; };
        const auto [last, longest] = std::ranges::minmax_element(times, {}, by_time);
        double waited = 0;
        for (const auto& [rank, time] : times) {
            RankArrivals& arrivals = at(found.ranks, rank);
            ++arrivals.calls;
            arrivals.expected_last += 1 / static_cast<double>(times.size());
            waited += time - last->second;
        }
        found.spent_ns += longest->second;
        ++found.calls;
        if (waited == 0) continue;
        RankArrivals& straggler = at(found.ranks, last->first);
        ++straggler.last;
        straggler.caused_wait_ns += waited / static_cast<double>(times.size() - 1);
    }
    for (const auto& [what, by_rank] : log.begun) {
        std::int64_t most = 0;
        for (const auto& [rank, begun] : by_rank) most = std::max(most, begun);
        for (const auto& [rank, begun] : by_rank) at(found.ranks, rank).missing += most - begun;
        found.begun += most;
    }
    return found;
}

// Returns the rank that others wait for the longest, if it is at least 2 % of the time.
std::optional<int> costly_rank(const Stragglers& found) {
    constexpr double least_share = 0.02;
    const auto worst = std::ranges::max_element(found.ranks, {}, &RankArrivals::caused_wait_ns);
    if (worst == found.ranks.end() || worst->caused_wait_ns < least_share * found.spent_ns ||
        worst->caused_wait_ns == 0)
        return std::nullopt;
    return static_cast<int>(worst - found.ranks.begin());
}

}  // namespace

std::optional<int> Stragglers::slow_rank() const {
    const auto rank = is_summed ? std::nullopt : costly_rank(*this);
    if (!rank) return std::nullopt;
    const RankArrivals& worst = at(ranks, *rank);
    // Being last is a draw among the ranks: at most its variance is the mean.
    const double deviation = std::sqrt(worst.expected_last);
    return static_cast<double>(worst.last) < worst.expected_last + least_deviations * deviation
               ? std::nullopt
               : rank;
}

std::optional<int> Stragglers::suspected_rank() const {
    return is_summed ? costly_rank(*this) : std::nullopt;
}

bool Stragglers::is_by_chance(int rank) const {
    const RankArrivals& one = at(ranks, rank);
    return one.caused_wait_ns < least_deviations * one.deviation_ns;
}

std::optional<int> Stragglers::missing_rank() const {
    const auto has_fault = [](const RankArrivals& one) { return !one.fault.empty(); };
    const auto silent = std::ranges::find_if(ranks, has_fault);
    if (silent != ranks.end()) return static_cast<int>(silent - ranks.begin());
    const auto worst = std::ranges::max_element(ranks, {}, &RankArrivals::missing);
    if (worst == ranks.end() || worst->missing == 0) return std::nullopt;
    return static_cast<int>(worst - ranks.begin());
}

Stragglers stragglers_in(const std::string& typed) {
    const std::vector<RankFile> files = rank_files_in(typed);
    const TraceForm* const form = form_of(files.front().document);
    const auto title = [](const RankFile& file) {
        const TraceForm* const of = form_of(file.document);
        return of == nullptr ? std::string_view("this file") : of->title;
    };
    if (form == nullptr || form->arrivals == nullptr)
        throw Error(fmt::format("{}: --stragglers cannot read {}; use one of: {}",
                                files.front().source.name(), title(files.front()),
                                titles_of_logs()));
    for (const RankFile& file : files)
        if (form_of(file.document) != form)
            throw Error(fmt::format("{}: {}, but {} is {}; use logs of one kind",
                                    file.source.name(), title(file), files.front().source.name(),
                                    form->title));
    return compared(form->arrivals(files));
}

}  // namespace tutti
