// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

// Logs of NCCL's profilers: a line for each call, by its inspector or by libtutti_nccl.so. They
// know a process only as a rank of its communicators.
namespace tutti {
namespace {

// A rank of a communicator.
struct Member {
    std::string communicator;
    std::int64_t rank = 0;
    auto operator<=>(const Member&) const = default;
};

struct LoggedCall {
    Fields place;
    Member member;
    std::string name, type;
    std::int64_t count = 0;  // elements, of a block for collectives of blocks
    std::int64_t peer = -1;  // rank of the communicator
    std::optional<std::int64_t> began_ns;
};

struct LoggedProcess {
    std::vector<LoggedCall> calls;
    std::map<std::string, std::int64_t> ranks;  // by communicator
};

struct NcclLogs {
    std::map<std::string, LoggedProcess> processes;
    std::map<std::string, std::int64_t> sizes;  // ranks of each communicator
    std::map<Member, std::string> process_of;
    bool is_inspector = false;
};

constexpr std::int64_t most_ranks_of_logs = 1 << 16;

void add_member(NcclLogs& logs, const Fields& line, const Member& member, std::int64_t ranks,
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

// The inspector logs bytes without a type.
void set_bytes(LoggedCall& call, std::int64_t bytes) {
    constexpr std::int64_t float_bytes = 4;
    const bool is_even = bytes % float_bytes == 0;
    call.type = is_even ? "float32" : "uint8";
    call.count = is_even ? bytes / float_bytes : bytes;
}

void read_inspector_line(const Fields& line, NcclLogs& logs) {
    logs.is_inspector = true;
    const Fields header = line.object("header"), metadata = line.object("metadata");
    const Member member{header.text("id"), header.number("rank")};
    const std::string process =
        fmt::format("{}:{}", metadata.text("hostname"), metadata.number("pid"));
    add_member(logs, line, member, header.number("n_ranks"), process);
    const bool is_collective = line.has("coll_perf");
    const std::string begin = is_collective ? "coll" : "p2p";
    const Fields perf = line.object(is_collective ? "coll_perf" : "p2p_perf");
    LoggedCall call{.place = line, .member = member, .name = perf.text(begin.c_str())};
    set_bytes(call, perf.count((begin + "_msg_size_bytes").c_str()));
    if (!is_collective) call.peer = perf.number("p2p_peer");
    if (perf.has("event_trace_ts"))
        call.began_ns = perf.object("event_trace_ts").ns((begin + "_start_ts").c_str(), 0);
    logs.processes[process].calls.push_back(std::move(call));
}

void read_own_line(const Fields& line, NcclLogs& logs) {
    const Member member{line.text("communicator"), line.number("rank")};
    const std::string event = line.text("event");
    if (event == "communicator") {
        add_member(logs, line, member, line.number("ranks"),
                   fmt::format("{}:{}", line.text("host"), line.number("pid")));
    } else if (event == "call") {
        const auto process = logs.process_of.find(member);
        if (process == logs.process_of.end())
            line.refuse("a call of a communicator that no line before describes");
        logs.processes[process->second].calls.push_back({.place = line,
                                                         .member = member,
                                                         .name = line.text("collective"),
                                                         .type = line.text("type"),
                                                         .count = line.count("count"),
                                                         .began_ns = line.number("unix_ns", 0)});
    }
}

// Returns the communicator of all ranks: the largest one.
std::string communicator_of_all(const NcclLogs& logs) {
    const auto largest =
        std::ranges::max_element(logs.sizes, {}, [](const auto& one) { return one.second; });
    return largest == logs.sizes.end() ? "" : largest->first;
}

class LogImporter {
public:
    LogImporter(const NcclLogs& logs, std::string all, OpsBuilder& builder, LeftOut& left_out)
        : logs_(logs), all_(std::move(all)), builder_(builder), left_out_(left_out) {}

    void import(const LoggedProcess& process) {
        std::vector<LoggedCall> calls = process.calls;
        std::ranges::stable_sort(calls, {}, &LoggedCall::began_ns);
        const Rank rank{static_cast<int>(process.ranks.at(all_))};
        for (const LoggedCall& call : calls) import(call, rank, calls.front().began_ns);
    }

private:
    // Empty: some of its ranks are in no log.
    std::vector<std::int64_t> group_of(const std::string& communicator) const {
        std::vector<std::int64_t> ranks;
        for (std::int64_t rank = 0; rank < logs_.sizes.at(communicator); ++rank) {
            const auto process = logs_.process_of.find({communicator, rank});
            if (process == logs_.process_of.end()) return {};
            const auto& known = logs_.processes.at(process->second).ranks;
            const auto in_all = known.find(all_);
            if (in_all == known.end()) return {};
            ranks.push_back(in_all->second);
        }
        return ranks;
    }

    void import(const LoggedCall& logged, Rank rank, std::optional<std::int64_t> begin_ns) {
        const auto what = replayable(logged.name, logged.type, left_out_);
        if (!what) return;
        ImportedCall call{.what = *what, .rank = rank, .type = logged.type};
        const bool is_of_all = logged.member.communicator == all_;
        if (!is_of_all) {
            call.group = group_of(logged.member.communicator);
            if (call.group.empty())
                return left_out_.add("calls of groups whose ranks are not in the logs");
        }
        call.input = call.output = logged.count;
        if (what->collective == Collective::all_to_all)
            call.input *= logs_.sizes.at(logged.member.communicator);
        if (logged.peer >= 0)
            call.peer = is_of_all ? logged.peer
                        : logged.peer < static_cast<std::int64_t>(call.group.size())
                            ? at(call.group, logged.peer)
                            : -1;
        TraceOp op = op_of(call, builder_, logged.place);
        op.id = next_++;
        std::optional<std::int64_t> launch_ns;
        if (logged.began_ns && begin_ns) launch_ns = *logged.began_ns - *begin_ns;
        builder_.add(rank, std::move(op), launch_ns);
    }

    const NcclLogs& logs_;
    std::string all_;
    OpsBuilder& builder_;
    LeftOut& left_out_;
    std::int64_t next_ = 0;
};

}  // namespace

bool is_line_of_nccl(const JsonValue& line) {
    const bool is_inspectors =
        line.find("header") != nullptr &&
        (line.find("coll_perf") != nullptr || line.find("p2p_perf") != nullptr);
    return is_inspectors || (line.find("event") != nullptr && line.find("communicator") != nullptr);
}

OpsTrace ops_of_nccl_log(const std::vector<RankFile>& files, std::string& note) {
    NcclLogs logs;
    for (const RankFile& file : files)
        for (const Fields& line : Fields(file.document, file.source).objects("nccl_lines"))
            line.has("header") ? read_inspector_line(line, logs) : read_own_line(line, logs);
    const Fields first(files.front().document, files.front().source);
    const std::string all = communicator_of_all(logs);
    if (all.empty()) first.refuse("no communicator; use the log of a job that used NCCL");
    const std::int64_t world = logs.sizes.at(all);
    for (const auto& [name, process] : logs.processes)
        if (!process.ranks.contains(all))
            first.refuse(fmt::format("process {} is not a rank of the largest communicator",
                                     printable(name)));
    const bool is_alone = logs.processes.size() == 1 && world > 1;
    if (!is_alone && static_cast<std::int64_t>(logs.processes.size()) != world)
        first.refuse(fmt::format("logs of {} processes of {} ranks; use the logs of all, or of one",
                                 logs.processes.size(), world));
    OpsBuilder builder(static_cast<int>(world));
    LeftOut left_out;
    for (const auto& [name, process] : logs.processes)
        LogImporter(logs, all, builder, left_out).import(process);
    if (is_alone) {
        const Rank recorded{static_cast<int>(logs.processes.begin()->second.ranks.at(all))};
        builder.repeat_on_all(recorded, left_out);
        add_note(note,
                 fmt::format("all {} ranks replay the calls of rank {}", world, recorded.index));
    }
    add_note(note, "roots are not logged: the first rank of a group is the root");
    if (logs.is_inspector)
        add_note(note, "NCCL's inspector logs no calls below its least size (8 KiB by default)");
    add_note(note, left_out.in_words());
    return builder.done();
}

}  // namespace tutti
