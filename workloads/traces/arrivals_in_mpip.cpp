// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/traces/arrival_log.hpp"

// Reports of mpiP: for each call site (a place in the program that calls MPI) and each rank, the
// number of calls and their shortest, longest and mean time. The report names no communicators.
namespace tutti {
namespace {

constexpr std::string_view begin_of_report = "@ mpiP";

class MpipReport {
public:
    MpipReport(std::string_view text, const Source& source) : source_(source) {
        for (const std::string_view line : split(text, '\n')) {
            ++number_;
            read(line);
        }
    }

    ArrivalLog done() {
        const auto ranks = std::max(log_.names.size(), as_size(most_rank_ + 1));
        log_.names.resize(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank)
            if (log_.names[rank].empty()) log_.names[rank] = fmt::format("task {}", rank);
        std::erase_if(log_.sums, [&](const auto& site) { return !is_of_all(site.second); });
        if (log_.sums.empty())
            source_.fail(1,
                         "no call site of a collective has as many calls, with times, on all "
                         "ranks; use mpiP without -c in the variable MPIP");
        return std::move(log_);
    }

private:
    void read(std::string_view line) {
        constexpr std::string_view assignment = "@ MPI Task Assignment",
                                   times = "@--- Callsite Time statistics", section = "@---";
        if (line.starts_with(section)) is_in_times_ = line.starts_with(times);
        if (line.starts_with(assignment)) return read_host(words_of(line));
        const auto words = words_of(line);
        if (is_in_times_ && !words.empty() && !line.starts_with(section) &&
            !line.starts_with("---") && words.front() != "Name" && line.find('*') == line.npos)
            read_times(words);
    }

    int rank_in(std::string_view word) const {
        const auto rank = decimal_number(word);
        if (!rank || *rank < 0 || *rank >= most_ranks_of_files)
            source_.fail(number_, fmt::format("{} is not a rank", in_quotes(word)));
        return static_cast<int>(*rank);
    }

    // "@ MPI Task Assignment      : 0 node1"
    void read_host(const std::vector<std::string_view>& words) {
        if (words.size() < 7) source_.fail(number_, "the rank or its host is missing");
        const int rank = rank_in(words[5]);
        log_.names.resize(std::max(log_.names.size(), as_size(rank + 1)));
        at(log_.names, rank) = words[6];
    }

    // "Allreduce   3    0   100   0.7   0.5   0.4   6.31   7.47": name, call site, rank, calls,
    // longest, mean and shortest time in ms, and shares of the time.
    void read_times(const std::vector<std::string_view>& words) {
        constexpr std::size_t columns = 9;
        if (words.size() != columns) source_.fail(number_, "not a line of a call site and a rank");
        const int rank = rank_in(words[2]);
        most_rank_ = std::max(most_rank_, rank);
        if (!waits_for_all(std::string(words[0]))) return;
        const auto calls = decimal_number(words[3]);
        if (!calls || *calls < 1 || *calls > most_elements)
            source_.fail(number_, fmt::format("{} is not a number of calls", in_quotes(words[3])));
        const CallSums sums{.calls = *calls,
                            .mean_ns = ns_in(words[5]),
                            .least_ns = ns_in(words[6]),
                            .most_ns = ns_in(words[4])};
        log_.sums[fmt::format("{} {}", words[0], words[1])][rank] = sums;
    }

    double ns_in(std::string_view word) const {
        constexpr double ns_per_ms = 1e6, longest_ms = 1e12;
        const auto ms = real_number(word);
        if (!ms || *ms < 0 || *ms > longest_ms)
            source_.fail(number_, fmt::format("{} is not a time in ms", in_quotes(word)));
        return *ms * ns_per_ms;
    }

    // All ranks do the same number of calls there. They may still be in several communicators.
    bool is_of_all(const std::map<int, CallSums>& ranks) const {
        const std::int64_t calls = ranks.begin()->second.calls;
        return ranks.size() > 1 && ranks.size() == log_.names.size() &&
               std::ranges::all_of(ranks,
                                   [&](const auto& one) { return one.second.calls == calls; });
    }

    const Source& source_;
    int number_ = 0;
    int most_rank_ = -1;
    bool is_in_times_ = false;
    ArrivalLog log_;
};

}  // namespace

std::optional<JsonValue> document_of_mpip(std::string_view text, const Source&) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos || !text.substr(begin).starts_with(begin_of_report)) return std::nullopt;
    return JsonValue{1, JsonValue::Object{{"mpip", {1, std::string(text)}}}};
}

ArrivalLog arrivals_in_mpip(const std::vector<RankFile>& files) {
    if (files.size() > 1)
        throw Error(fmt::format("{}: a second report; pass one alone, as it covers all ranks",
                                files[1].source.name()));
    const RankFile& file = files.front();
    return MpipReport(Fields(file.document, file.source).text("mpip"), file.source).done();
}

}  // namespace tutti
