// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/nccl_log.hpp"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr std::int64_t most_ranks_of_logs = 1 << 16;

// The inspector logs bytes without a type.
void set_bytes(LoggedNcclCall& call, std::int64_t bytes) {
    constexpr std::int64_t float_bytes = 4;
    const bool is_even = bytes % float_bytes == 0;
    call.type = is_even ? "float32" : "uint8";
    call.count = is_even ? bytes / float_bytes : bytes;
}

void read_inspector_line(const Fields& line, NcclLogs& logs) {
    const Fields header = line.object("header"), metadata = line.object("metadata");
    const NcclMember member{header.text("id"), header.number("rank")};
    const std::string process =
        fmt::format("{}:{}", metadata.text("hostname"), metadata.number("pid"));
    add_member(logs, line, member, header.number("n_ranks"), process);
    const bool is_collective = line.has("coll_perf");
    const std::string begin = is_collective ? "coll" : "p2p";
    const Fields perf = line.object(is_collective ? "coll_perf" : "p2p_perf");
    LoggedNcclCall call{.place = line, .member = member, .name = perf.text(begin.c_str())};
    set_bytes(call, perf.count((begin + "_msg_size_bytes").c_str()));
    if (!is_collective) call.peer = perf.number("p2p_peer");
    const std::string sequence = begin + "_sn";
    if (perf.has(sequence.c_str())) call.sequence = perf.count(sequence.c_str());
    constexpr std::int64_t ns_per_us = 1000;
    call.took_ns = ns_per_us * perf.count((begin + "_exec_time_us").c_str());
    if (perf.has("event_trace_ts"))
        call.began_ns = perf.object("event_trace_ts").ns((begin + "_start_ts").c_str(), 0);
    logs.processes[process].calls.push_back(std::move(call));
}

// The calls of a process that have not ended, by their ids.
using RunningCalls = std::map<std::pair<std::string, std::int64_t>, std::size_t>;

void read_own_line(const Fields& line, NcclLogs& logs, RunningCalls& running) {
    const NcclMember member{line.text("communicator"), line.number("rank")};
    const std::string event = line.text("event");
    if (event == "communicator")
        return add_member(logs, line, member, line.number("ranks"),
                          fmt::format("{}:{}", line.text("host"), line.number("pid")));
    if (event != "call" && event != "done") return;
    const auto process = logs.process_of.find(member);
    if (process == logs.process_of.end())
        line.refuse("a call of a communicator that no line before describes");
    auto& calls = logs.processes[process->second].calls;
    const std::pair id{process->second, line.number("id")};
    if (event == "call") {
        running[id] = calls.size();
        calls.push_back({.place = line,
                         .member = member,
                         .name = line.text("collective"),
                         .type = line.text("type"),
                         .count = line.count("count"),
                         .sequence = line.has("sequence") ? line.count("sequence") : 0,
                         .began_ns = line.number("unix_ns", 0)});
    } else if (const auto call = running.find(id); call != running.end()) {
        calls[call->second].took_ns = line.count("gpu_ns");
        running.erase(call);
    }
}

}  // namespace

void add_member(NcclLogs& logs, const Fields& line, const NcclMember& member, std::int64_t ranks,
                const std::string& process) {
    if (ranks < 1 || ranks > most_ranks_of_logs || member.rank < 0 || member.rank >= ranks)
        line.refuse(fmt::format("rank {} of {} ranks is impossible", member.rank, ranks));
    if (const auto [size, is_new] = logs.sizes.try_emplace(member.communicator, ranks);
        !is_new && size->second != ranks)
        line.refuse(
            fmt::format("a communicator has {} ranks here and {} elsewhere", ranks, size->second));
    if (const auto [known, is_new] = logs.process_of.try_emplace(member, process);
        !is_new && known->second != process)
        line.refuse("two processes are the same rank; use the logs of one job");
    const auto [own, is_new] =
        logs.processes[process].ranks.try_emplace(member.communicator, member.rank);
    if (!is_new && own->second != member.rank)
        line.refuse("a process is two ranks of a communicator, which cannot be replayed");
}

const std::string& NcclLogs::of_all() const {
    return std::ranges::max_element(sizes, {}, [](const auto& one) { return one.second; })->first;
}

bool is_line_of_nccl(const JsonValue& line) {
    const bool is_inspectors =
        line.find("header") != nullptr &&
        (line.find("coll_perf") != nullptr || line.find("p2p_perf") != nullptr);
    return is_inspectors || (line.find("event") != nullptr && line.find("communicator") != nullptr);
}

void require_communicator_of_all(const NcclLogs& logs, const Fields& first) {
    if (logs.sizes.empty()) first.refuse("no communicator; use the log of a job that used NCCL");
    for (const auto& [name, process] : logs.processes)
        if (!process.ranks.contains(logs.of_all()))
            first.refuse(fmt::format("process {} is not a rank of the largest communicator",
                                     printable(name)));
}

NcclLogs read_nccl_logs(const std::vector<RankFile>& files) {
    NcclLogs logs;
    RunningCalls running;
    bool has_lines_of_inspector = false;
    for (const RankFile& file : files)
        for (const Fields& line : Fields(file.document, file.source).objects("nccl_lines")) {
            const bool is_inspectors = line.has("header");
            has_lines_of_inspector |= is_inspectors;
            is_inspectors ? read_inspector_line(line, logs) : read_own_line(line, logs, running);
        }
    require_communicator_of_all(logs, {files.front().document, files.front().source});
    logs.notes.emplace_back("roots are not logged: the first rank of a group is the root");
    if (has_lines_of_inspector)
        logs.notes.emplace_back(
            "NCCL's inspector logs no calls below its least size (8 KiB by default)");
    return logs;
}

}  // namespace tutti
