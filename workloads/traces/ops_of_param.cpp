// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// Imports one rank's list. A call runs until a "wait" with its "req"; one without is waited for at
// once. Computing is recorded by its shape, without a time; the time between entries is known.
class Importer {
public:
    Importer(OpsBuilder& builder, Rank rank, LeftOut& left_out)
        : builder_(builder), rank_(rank), left_out_(left_out) {}

    void import(const RankFile& file) {
        for (const JsonValue& one : *file.document.list()) import(Fields(one, file.source));
    }
    std::int64_t without_time() const { return without_time_; }

private:
    void import(const Fields& entry) {
        const bool has_time = entry.has("startTime_ns");
        if (has_time && !began_ns_) began_ns_ = time_of(entry);
        std::optional<std::int64_t> launch;
        if (has_time) launch = time_of(entry) - *began_ns_;
        if (!entry.has("comms")) {
            if (!entry.has("compute")) entry.refuse("neither 'comms' nor 'compute'");
            if (!has_time) ++without_time_;
            builder_.add(rank_, {}, launch);
            return;
        }
        const std::string name = entry.text("comms");
        if (name == "init" || name == "batch_isend_irecv") return read_group(entry);
        read_group(entry);
        const auto known = replayable(name, entry.text("dtype"), left_out_);
        if (!known) {
            if (entry.has("req")) id_of_[request_of(entry)] = -1;
            return;
        }
        const OpName what = *known;
        if (what.kind == TraceOp::Kind::wait && waits_for_left_out(entry)) return;
        TraceOp op = what.kind == TraceOp::Kind::wait ? wait_of(entry) : call_of(entry, what);
        const std::int64_t id = op.id;
        const bool goes_on = what.kind == TraceOp::Kind::wait || entry.has("req");
        builder_.add(rank_, std::move(op), launch);
        if (goes_on) return;
        TraceOp end;
        end.kind = TraceOp::Kind::wait;
        end.place = entry.place();
        end.after = {id};
        builder_.add(rank_, std::move(end));
    }

    bool waits_for_left_out(const Fields& entry) const {
        if (!entry.has("req")) return false;
        const auto call = id_of_.find(request_of(entry));
        return call != id_of_.end() && call->second < 0;
    }

    static std::int64_t time_of(const Fields& entry) {
        const std::int64_t ns = entry.number("startTime_ns");
        if (ns < 0) entry.refuse("'startTime_ns' is negative");
        return ns;
    }

    void read_group(const Fields& entry) {
        if (entry.has("pg_id") && entry.has("global_ranks") &&
            !entry.numbers("global_ranks").empty())
            groups_[entry.number("pg_id")] = entry.numbers("global_ranks");
    }

    TraceOp wait_of(const Fields& entry) {
        TraceOp op;
        op.kind = TraceOp::Kind::wait;
        op.place = entry.place();
        if (!entry.has("req")) return op;
        const auto call = id_of_.find(request_of(entry));
        if (call == id_of_.end()) entry.refuse("waits for a 'req' that no earlier call has");
        op.after = {call->second};
        return op;
    }

    TraceOp call_of(const Fields& entry, const OpName& what) {
        ImportedCall call{.what = what, .rank = rank_};
        if (has_buffers(what.collective)) {
            call.type = entry.text("dtype");
            call.input = entry.count("in_msg_size");
            call.output = entry.count("out_msg_size");
        }
        call.sends = entry.counts("in_split");
        call.receives = entry.counts("out_split");
        if (entry.has("pg_id"))
            if (const auto group = groups_.find(entry.number("pg_id")); group != groups_.end())
                call.group = group->second;
        if (what.kind == TraceOp::Kind::send) call.peer = entry.number("dst_rank");
        if (what.kind == TraceOp::Kind::recv) call.peer = entry.number("src_rank");
        if (entry.has("root")) call.root = entry.number("root");
        TraceOp op = op_of(call, builder_, entry);
        op.id = next_++;
        if (entry.has("req")) id_of_[request_of(entry)] = op.id;
        return op;
    }

    // Reads a number, or a pair of them.
    static std::string request_of(const Fields& entry) { return text_of(entry.at("req")); }

    OpsBuilder& builder_;
    Rank rank_;
    LeftOut& left_out_;
    std::optional<std::int64_t> began_ns_;
    std::map<std::int64_t, std::vector<std::int64_t>> groups_;
    std::map<std::string, std::int64_t> id_of_;
    std::int64_t next_ = 0;
    std::int64_t without_time_ = 0;
};

}  // namespace

OpsTrace ops_of_param(const std::vector<RankFile>& files, std::string& note) {
    OpsBuilder builder(int_size(files));
    std::int64_t without_time = 0;
    LeftOut left_out;
    for (std::size_t rank = 0; rank < files.size(); ++rank) {
        Importer importer(builder, {static_cast<int>(rank)}, left_out);
        importer.import(files[rank]);
        without_time += importer.without_time();
    }
    if (without_time > 0)
        note =
            fmt::format("{} compute entries have no startTime_ns and are left out", without_time);
    add_note(note, left_out.in_words());
    return builder.done();
}

}  // namespace tutti
