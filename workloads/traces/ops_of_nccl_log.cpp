// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/index.hpp"
#include "workloads/traces/nccl_log.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

// Calls in logs of NCCL's profilers as a trace.
namespace tutti {
namespace {

class LogImporter {
public:
    LogImporter(const NcclLogs& logs, std::string all, OpsBuilder& builder, LeftOut& left_out)
        : logs_(logs), all_(std::move(all)), builder_(builder), left_out_(left_out) {}

    void import(const LoggedNcclProcess& process) {
        std::vector<LoggedNcclCall> calls = process.calls;
        std::ranges::stable_sort(calls, {}, &LoggedNcclCall::began_ns);
        const Rank rank{static_cast<int>(process.ranks.at(all_))};
        for (const LoggedNcclCall& call : calls) import(call, rank, calls.front().began_ns);
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

    // Converts a rank of the call's communicator, whose ranks in the job are `group` (empty: all).
    static std::int64_t rank_of_job(std::int64_t rank, const LoggedNcclCall& logged,
                                    const std::vector<std::int64_t>& group) {
        if (rank < 0 || group.empty()) return rank;
        if (rank >= static_cast<std::int64_t>(group.size()))
            logged.place.refuse(fmt::format("rank {} is not in its communicator", rank));
        return at(group, rank);
    }

    void import(const LoggedNcclCall& logged, Rank rank, std::optional<std::int64_t> begin_ns) {
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
        call.peer = rank_of_job(logged.peer, logged, call.group);
        if (has_root(what->collective)) call.root = rank_of_job(logged.root, logged, call.group);
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

OpsTrace ops_of(const NcclLogs& logs, const Fields& first, std::string& note) {
    const std::string& all = logs.of_all();
    const std::int64_t world = logs.sizes.at(all);
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
    for (const std::string& missing : logs.notes) add_note(note, missing);
    add_note(note, left_out.in_words());
    return builder.done();
}

OpsTrace ops_of_nccl_log(const std::vector<RankFile>& files, std::string& note) {
    return ops_of(read_nccl_logs(files), {files.front().document, files.front().source}, note);
}

}  // namespace tutti
