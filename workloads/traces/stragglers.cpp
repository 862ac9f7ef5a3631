// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/index.hpp"
#include "workloads/traces/nccl_log.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// A collective, the same on all ranks of its group.
struct JointCall {
    std::string group, name;
    std::int64_t sequence = 0;
    auto operator<=>(const JointCall&) const = default;
};

// The logs of all ranks, which are numbered as in the whole job.
struct ArrivalLog {
    std::vector<std::string> names;                       // by rank
    std::map<JointCall, std::map<int, double>> times_ns;  // by rank; it has ended there
    std::map<std::string, std::size_t> members;           // ranks of a group
    std::map<std::pair<std::string, std::string>, std::map<int, std::int64_t>> begun;
};

// All ranks wait for the last one. In other collectives a rank may be done early.
bool waits_for_all(const std::string& name) {
    try {
        const OpName what = op_of_trace(name);
        return what.kind == TraceOp::Kind::collective &&
               (what.collective == Collective::all_reduce ||
                what.collective == Collective::all_gather ||
                what.collective == Collective::reduce_scatter ||
                what.collective == Collective::all_to_all ||
                what.collective == Collective::barrier);
    } catch (const Error&) {
        return false;
    }
}

// `counted` is what the sequence numbers of the group count: calls of this name, or all ("").
void add_call(ArrivalLog& log, int rank, const JointCall& call, const std::string& counted,
              std::optional<double> took_ns) {
    std::int64_t& most = log.begun[{call.group, counted}][rank];
    most = std::max(most, call.sequence + 1);
    if (took_ns && waits_for_all(call.name)) log.times_ns[call][rank] = *took_ns;
}

ArrivalLog arrivals_in_nccl_logs(const std::vector<RankFile>& files) {
    const NcclLogs logs = read_nccl_logs(files);
    const std::string& all = logs.of_all();
    ArrivalLog log;
    log.names.resize(static_cast<std::size_t>(logs.sizes.at(all)));
    for (const auto& [communicator, size] : logs.sizes)
        log.members[communicator] = static_cast<std::size_t>(size);
    for (const auto& [name, process] : logs.processes) {
        const auto rank = static_cast<int>(process.ranks.at(all));
        at(log.names, rank) = name;
        for (const LoggedNcclCall& call : process.calls)
            if (call.peer < 0)
                add_call(log, rank, {call.member.communicator, call.name, call.sequence}, call.name,
                         call.took_ns ? std::optional(static_cast<double>(*call.took_ns))
                                      : std::nullopt);
    }
    for (auto& [what, begun] : log.begun)  // also ranks that have begun none
        for (const auto& [name, process] : logs.processes)
            if (process.ranks.contains(what.first))
                begun.try_emplace(static_cast<int>(process.ranks.at(all)), 0);
    return log;
}

// Returns the number of a field; none if it is absent or null.
std::optional<double> number_in(const Fields& of, const char* name) {
    if (!of.has(name)) return std::nullopt;
    const JsonValue& value = of.at(name);
    if (const auto* whole = value.whole_number()) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(&value.value);
    return real ? std::optional(*real) : std::nullopt;
}

ArrivalLog arrivals_in_flight_recorders(const std::vector<RankFile>& files) {
    ArrivalLog log;
    std::map<std::string, std::set<int>> ranks_of_group;
    for (std::size_t rank = 0; rank < files.size(); ++rank) {
        log.names.push_back(files[rank].source.name());
        const Fields document(files[rank].document, files[rank].source);
        for (const Fields& entry : document.objects("entries")) {
            const std::string full_name = entry.text("profiling_name");
            const std::string name = full_name.substr(full_name.find(':') + 1);
            if (name.starts_with("send") || name.starts_with("recv")) continue;
            std::string group;
            if (entry.has("process_group")) group = text_of(entry.at("process_group"));
            const std::int64_t sequence =
                entry.has("collective_seq_id") ? entry.count("collective_seq_id") : 0;
            ranks_of_group[group].insert(static_cast<int>(rank));
            const auto ms = number_in(entry, "duration_ms");
            constexpr double ns_per_ms = 1e6;
            add_call(log, static_cast<int>(rank), {group, name, sequence}, "",
                     ms ? std::optional(*ms * ns_per_ms) : std::nullopt);
        }
    }
    for (const auto& [group, ranks] : ranks_of_group) log.members[group] = ranks.size();
    for (auto& [what, begun] : log.begun)
        for (const int rank : ranks_of_group.at(what.first)) begun.try_emplace(rank, 0);
    return log;
}

Stragglers compared(const ArrivalLog& log) {
    Stragglers found;
    for (const std::string& name : log.names) found.ranks.push_back({.name = name});
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
    }
    return found;
}

}  // namespace

std::optional<int> Stragglers::slow_rank() const {
    constexpr double least_share = 0.02, least_deviations = 4;
    const auto worst = std::ranges::max_element(ranks, {}, &RankArrivals::caused_wait_ns);
    if (worst == ranks.end() || worst->caused_wait_ns < least_share * spent_ns ||
        worst->caused_wait_ns == 0)
        return std::nullopt;
    // Being last is a draw among the ranks: at most its variance is the mean.
    const double deviation = std::sqrt(worst->expected_last);
    if (static_cast<double>(worst->last) < worst->expected_last + least_deviations * deviation)
        return std::nullopt;
    return static_cast<int>(worst - ranks.begin());
}

std::optional<int> Stragglers::missing_rank() const {
    const auto worst = std::ranges::max_element(ranks, {}, &RankArrivals::missing);
    if (worst == ranks.end() || worst->missing == 0) return std::nullopt;
    return static_cast<int>(worst - ranks.begin());
}

Stragglers stragglers_in(const std::string& typed) {
    const std::vector<RankFile> files = rank_files_in(typed);
    const JsonValue& first = files.front().document;
    Stragglers found;
    if (first.find("nccl_lines") != nullptr)
        found = compared(arrivals_in_nccl_logs(files));
    else if (first.find("entries") != nullptr)
        found = compared(arrivals_in_flight_recorders(files));
    else
        throw Error(files.front().source.name() +
                    ": no log of NCCL's inspector, libtutti_nccl or PyTorch's flight recorder");
    return found;
}

}  // namespace tutti
