// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// A call as a recorder wrote it.
struct RecordedCall {
    Fields place;  // for errors
    std::string name, type = "float32";
    std::int64_t input = 0, output = 0;
    std::vector<std::int64_t> sends, receives, group;
    std::int64_t group_size = 0;  // 0: not recorded
    std::int64_t root = -1, peer = -1;
    std::string number;  // the same in a call and its wait; may be empty
    std::int64_t began_ns = 0;
};

struct RecordedRank {
    std::vector<RecordedCall> calls;
    std::int64_t rank = -1, world = 0;  // -1, 0: not recorded
};

// Reads "[0, 1]", a list written as text or a list. A text that was cut is empty.
std::vector<std::int64_t> numbers_in(const Fields& of, const char* name) {
    if (!of.has(name)) return {};
    const JsonValue& value = of.at(name);
    if (!value.text()) return value.list() ? of.numbers(name) : std::vector<std::int64_t>{};
    const Source source(*value.text(), name);
    try {
        const JsonValue parsed = parse_json(source);
        std::vector<std::int64_t> numbers;
        if (!parsed.list()) return {};
        for (const JsonValue& one : *parsed.list()) {
            if (!one.whole_number()) return {};
            numbers.push_back(*one.whole_number());
        }
        return numbers;
    } catch (const Error&) {
        return {};
    }
}

constexpr std::int64_t most_ranks = 1 << 16;

// Returns the largest group that a rank's calls name; all ranks are at least that many.
std::int64_t least_world(const RecordedRank& rank) {
    std::int64_t world = rank.world;
    for (const RecordedCall& call : rank.calls) {
        world = std::max(world, call.group_size);
        std::vector<std::int64_t> ranks = call.group;
        ranks.insert(ranks.end(), {call.root, call.peer});
        for (const std::int64_t one : ranks) world = std::max(world, std::min(one, most_ranks) + 1);
    }
    return world;
}

class Importer {
public:
    Importer(OpsBuilder& builder, Rank rank, LeftOut& left_out)
        : builder_(builder), rank_(rank), left_out_(left_out) {}

    void import(const RecordedRank& recorded) {
        std::int64_t begin = 0;
        if (!recorded.calls.empty()) begin = recorded.calls.front().began_ns;
        for (const RecordedCall& call : recorded.calls) import(call, call.began_ns - begin);
    }

private:
    void import(const RecordedCall& recorded, std::int64_t launch_ns) {
        const auto what = replayable(recorded.name, recorded.type, left_out_);
        if (!what) return;
        if (what->kind == TraceOp::Kind::wait) return wait(recorded, launch_ns);
        const auto ranks = static_cast<std::int64_t>(builder_.ranks());
        if (recorded.group.empty() && recorded.group_size > 0 && recorded.group_size != ranks)
            return left_out_.add("calls of groups whose ranks were not recorded");
        ImportedCall call{.what = *what,
                          .rank = rank_,
                          .type = recorded.type,
                          .input = recorded.input,
                          .output = recorded.output,
                          .group = recorded.group,
                          .root = recorded.root,
                          .peer = recorded.peer};
        if (what->collective == Collective::all_to_all) {
            call.sends = recorded.sends;
            call.receives = recorded.receives;
        }
        TraceOp op = op_of(call, builder_, recorded.place);
        op.id = next_++;
        if (!recorded.number.empty()) id_of_[recorded.number] = op.id;
        builder_.add(rank_, std::move(op), launch_ns);
    }

    // Programs also wait for calls before the trace.
    void wait(const RecordedCall& recorded, std::int64_t launch_ns) {
        const auto call = id_of_.find(recorded.number);
        if (call == id_of_.end()) return;
        TraceOp op;
        op.kind = TraceOp::Kind::wait;
        op.place = recorded.place.place();
        op.after = {call->second};
        builder_.add(rank_, std::move(op), launch_ns);
    }

    OpsBuilder& builder_;
    Rank rank_;
    LeftOut& left_out_;
    std::map<std::string, std::int64_t> id_of_;
    std::int64_t next_ = 0;
};

OpsTrace ops_of_recorded(const std::vector<RecordedRank>& ranks, const RankFile& first,
                         std::string& note) {
    auto world = static_cast<std::int64_t>(ranks.size());
    for (const RecordedRank& rank : ranks) world = std::max(world, least_world(rank));
    const Fields document(first.document, first.source);
    if (world > most_ranks) document.refuse(fmt::format("{} ranks are too many", world));
    const bool is_alone = ranks.size() == 1 && world > 1;
    if (!is_alone && world != static_cast<std::int64_t>(ranks.size()))
        document.refuse(
            fmt::format("{} files of a trace of {} ranks; use one file for each rank, "
                        "or a single file for all",
                        ranks.size(), world));
    OpsBuilder builder(static_cast<int>(world));
    LeftOut left_out;
    if (is_alone) {
        const bool is_known = ranks[0].rank >= 0 && ranks[0].rank < world;
        const Rank recorded{is_known ? static_cast<int>(ranks[0].rank) : 0};
        Importer(builder, recorded, left_out).import(ranks[0]);
        builder.repeat_on_all(recorded, left_out);
        add_note(note,
                 fmt::format("all {} ranks replay the calls of rank {}", world, recorded.index));
    } else {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            Importer(builder, {static_cast<int>(rank)}, left_out).import(ranks[rank]);
    }
    add_note(note, left_out.in_words());
    return builder.done();
}

// Reads an event of the profiler that describes a call in its arguments; none for other events.
std::optional<RecordedCall> call_in(const Fields& event) {
    if (!event.has("args") || !event.at("args").object()) return std::nullopt;
    const Fields args = event.object("args");
    if (!args.has("Collective name")) return std::nullopt;
    RecordedCall call{.place = event, .name = args.text("Collective name")};
    call.type = args.text("dtype", "float32");
    if (call.type.empty()) call.type = "float32";
    if (args.has("In msg nelems")) call.input = args.count("In msg nelems");
    if (args.has("Out msg nelems")) call.output = args.count("Out msg nelems");
    call.sends = numbers_in(args, "In split size");
    call.receives = numbers_in(args, "Out split size");
    call.group = numbers_in(args, "Process Group Ranks");
    call.group_size = args.number("Group size", 0);
    const std::int64_t start = args.number("Global rank start", -1),
                       stride = args.number("Global rank stride", 0);
    constexpr std::int64_t most_members = 1 << 16;
    if (call.group.empty() && start >= 0 && stride > 0 && call.group_size > 0 &&
        call.group_size <= most_members && stride <= most_members && start <= most_members) {
        for (std::int64_t i = 0; i < call.group_size; ++i) call.group.push_back(start + i * stride);
    }
    call.root = args.number("Root rank", -1);
    call.peer = args.number(args.has("Dst Rank") ? "Dst Rank" : "Src Rank", -1);
    if (args.has("Seq"))
        call.number = args.text("Process Group Name") + "/" + text_of(args.at("Seq"));
    call.began_ns = event.ns("ts", 0);
    return call;
}

// The profiler describes a call on the processor and, in its kernel, on the GPU.
RecordedRank rank_in_profile(const RankFile& file) {
    const Fields document(file.document, file.source);
    RecordedRank rank;
    if (document.has("distributedInfo") && document.at("distributedInfo").object()) {
        const Fields info = document.object("distributedInfo");
        rank.rank = info.number("rank", -1);
        rank.world = info.number("world_size", 0);
    }
    std::vector<RecordedCall> kernels;
    for (const Fields& event : document.objects("traceEvents")) {
        auto call = call_in(event);
        if (!call || call->name == "init") continue;
        const bool is_kernel = event.text("cat") == "kernel" || event.text("cat") == "Kernel";
        (is_kernel ? kernels : rank.calls).push_back(std::move(*call));
    }
    if (rank.calls.empty()) rank.calls = std::move(kernels);
    std::ranges::stable_sort(rank.calls, {}, &RecordedCall::began_ns);
    return rank;
}

// Returns the elements of all sizes: [[3, 4], [2]] has 14.
std::int64_t elements_in(const Fields& entry, const char* name) {
    std::int64_t sum = 0;
    if (!entry.has(name)) return sum;
    const JsonValue& sizes = entry.at(name);
    if (!sizes.list()) entry.refuse(fmt::format("'{}' is not a list", name));
    for (const JsonValue& one : *sizes.list()) {
        std::int64_t elements = 1;
        if (!one.list()) entry.refuse(fmt::format("'{}' is not a list of lists", name));
        for (const JsonValue& size : *one.list()) {
            const auto* const number = size.whole_number();
            if (!number || *number < 0)
                entry.refuse(fmt::format("'{}' has a size that is not a number", name));
            if (*number == 0) elements = 0;
            // Clamps sizes, so that the product does not overflow before it is refused.
            elements = elements > most_elements / std::max<std::int64_t>(*number, 1)
                           ? most_elements + 1
                           : elements * *number;
        }
        sum = std::min(sum + elements, most_elements + 1);
    }
    return sum;
}

std::string first_type(const Fields& entry) {
    for (const char* name : {"input_dtypes", "output_dtypes"}) {
        if (!entry.has(name)) continue;
        const JsonValue& types = entry.at(name);
        if (types.text()) return *types.text();
        if (types.list() && !types.list()->empty() && types.list()->front().text())
            return *types.list()->front().text();
    }
    return "float32";
}

RecordedRank rank_in_flight_recorder(const RankFile& file) {
    const Fields document(file.document, file.source);
    RecordedRank rank{.rank = document.number("rank", -1)};
    std::map<std::string, std::vector<std::int64_t>> groups;
    if (document.has("pg_config") && document.at("pg_config").object())
        for (const JsonField& one : *document.at("pg_config").object())
            groups[one.name] = numbers_in(document.child(one.value), "ranks");
    for (const Fields& entry : document.objects("entries")) {
        RecordedCall call{.place = entry, .name = entry.text("profiling_name")};
        call.type = first_type(entry);
        call.input = elements_in(entry, "input_sizes");
        call.output = elements_in(entry, "output_sizes");
        call.began_ns = entry.number("time_created_ns", 0);
        if (call.began_ns < 0) entry.refuse("'time_created_ns' is negative");
        const JsonValue* const group =
            entry.has("process_group") ? &entry.at("process_group") : nullptr;
        const JsonValue* const name =
            group && group->list() && !group->list()->empty() ? &group->list()->front() : group;
        if (name && name->text())
            if (const auto known = groups.find(*name->text()); known != groups.end())
                call.group = known->second;
        // "nccl:send 0->1", "nccl:recv 0<-1": places in the group.
        const bool has_peer =
            call.name.find("->") != call.name.npos || call.name.find("<-") != call.name.npos;
        const std::size_t peer = call.name.find_last_not_of("0123456789") + 1;
        if (has_peer && peer < call.name.size()) {
            const auto place = decimal_number(std::string_view(call.name).substr(peer));
            if (place && call.group.empty()) call.peer = *place;
            if (place && *place < static_cast<std::int64_t>(call.group.size()))
                call.peer = at(call.group, *place);
        }
        rank.calls.push_back(std::move(call));
    }
    std::ranges::stable_sort(rank.calls, {}, &RecordedCall::began_ns);
    return rank;
}

OpsTrace imported(const std::vector<RankFile>& files, RecordedRank (*read)(const RankFile&),
                  std::string& note) {
    std::vector<RecordedRank> ranks;
    for (const RankFile& file : files) ranks.push_back(read(file));
    return ops_of_recorded(ranks, files.front(), note);
}

}  // namespace

OpsTrace ops_of_profiler(const std::vector<RankFile>& files, std::string& note) {
    note = "the time between two calls counts as computing";
    return imported(files, rank_in_profile, note);
}

OpsTrace ops_of_flight_recorder(const std::vector<RankFile>& files, std::string& note) {
    note =
        "a flight recorder keeps the last calls only; the time between two calls counts as "
        "computing";
    return imported(files, rank_in_flight_recorder, note);
}

}  // namespace tutti
