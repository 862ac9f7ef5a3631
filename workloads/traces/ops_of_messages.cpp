// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// Kinds of nodes in the schema of Chakra.
enum NodeType : std::int64_t { computing = 4, sending = 5, receiving = 6, collective = 7 };

// The values of its CollectiveCommType, in order.
constexpr std::array collectives{"all_reduce",     "reduce",    "all_gather", "gather",
                                 "scatter",        "broadcast", "all_to_all", "reduce_scatter",
                                 "reduce_scatter", "barrier"};

// Returns the name by which a node names its group; empty for all ranks.
std::string group_in(const Fields& node) {
    const Fields attributes = node.object("attr");
    for (const char* name : {"pg_name", "comm_group"})
        if (attributes.has(name)) {
            const JsonValue& group = attributes.at(name);
            return group.text() ? *group.text() : text_of(group);
        }
    return "";
}

// One rank's nodes. Dependencies name nodes by their id, in any order of the file.
class Importer {
public:
    using Groups = std::map<std::string, std::vector<std::int64_t>>;

    Importer(OpsBuilder& builder, Rank rank, const RankFile& file, const Groups& groups,
             LeftOut& left_out)
        : builder_(builder), rank_(rank), groups_(groups), left_out_(left_out) {
        const Fields document(file.document, file.source);
        for (const Fields& node : document.objects("messages")) {
            nodes_.push_back(node);
            if (!place_of_.emplace(node.number("id"), nodes_.size() - 1).second)
                node.refuse(fmt::format("node {} appears twice", node.number("id")));
        }
    }

    void import() {
        std::vector<std::size_t> missing(nodes_.size());
        std::vector<std::vector<std::size_t>> later(nodes_.size());
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            for (const std::int64_t id : nodes_[i].numbers("deps")) {
                const auto earlier = place_of_.find(id);
                if (earlier == place_of_.end())
                    nodes_[i].refuse(fmt::format("depends on node {}, which does not exist", id));
                later[earlier->second].push_back(i);
                ++missing[i];
            }
        std::set<std::size_t> ready;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (missing[i] == 0) ready.insert(i);
        std::size_t done = 0;
        for (; !ready.empty(); ++done) {
            const std::size_t next = *ready.begin();
            ready.erase(ready.begin());
            import(nodes_[next]);
            for (const std::size_t one : later[next])
                if (--missing[one] == 0) ready.insert(one);
        }
        if (done != nodes_.size())
            nodes_.front().refuse(
                fmt::format("{} nodes depend on each other in a circle", nodes_.size() - done));
    }

private:
    void import(const Fields& node) {
        std::set<std::int64_t> after;
        for (const std::int64_t id : node.numbers("deps"))
            after.insert(ends_.at(id).begin(), ends_.at(id).end());
        auto& ends = ends_[node.number("id")];
        TraceOp op;
        if (!read(node, op)) {  // later nodes wait for what this node waited for
            ends = std::move(after);
            return;
        }
        op.place = node.place();
        op.id = next_++;
        op.after.assign(after.begin(), after.end());
        ends = {op.id};
        builder_.add(rank_, std::move(op));
    }

    // Returns whether the node is an action of the rank.
    bool read(const Fields& node, TraceOp& op) {
        switch (node.number("type")) {
            case computing:
                op.compute_ns = node.duration_ns("duration_micros");
                return op.compute_ns > 0;
            case sending:
            case receiving:
            case collective:
                return read_call(node, op);
            default:
                return false;
        }
    }

    bool read_call(const Fields& node, TraceOp& op) {
        const Fields attributes = node.object("attr");
        const std::int64_t type = node.number("type");
        std::string name = type == sending ? "send" : "recv";
        if (type == collective) {
            const std::int64_t which = attributes.number("comm_type", -1);
            name = which >= 0 && which < static_cast<std::int64_t>(collectives.size())
                       ? at(collectives, which)
                       : fmt::format("comm_type {}", which);
        }
        const auto what = replayable(name, "float32", left_out_);
        if (!what) return false;
        ImportedCall call{.what = *what, .rank = rank_};
        const std::int64_t bytes = attributes.number("comm_size", 0);
        if (bytes < 0 || bytes > most_elements)
            node.refuse(fmt::format("'comm_size' is {} bytes, not from 0 to 2^40", bytes));
        call.type = bytes % 4 == 0 ? "float32" : "uint8";
        call.input = call.output = bytes % 4 == 0 ? bytes / 4 : bytes;
        if (type == sending) call.peer = attributes.number("comm_dst");
        if (type == receiving) call.peer = attributes.number("comm_src");
        if (type == collective) call.group = groups_.at(group_in(node));
        if (call.what.kind == TraceOp::Kind::collective) fit_to(call);
        if (attributes.has("root")) call.root = attributes.number("root");
        op = op_of(call, builder_, node);
        return true;
    }

    // The size is that of the input; parts of it are for each rank.
    void fit_to(ImportedCall& call) const {
        const auto ranks = static_cast<std::int64_t>(call.group.size());
        const auto rounded = (call.input + ranks - 1) / ranks;
        if (call.what.collective == Collective::all_to_all) call.input = rounded * ranks;
        if (call.what.collective == Collective::reduce_scatter ||
            call.what.collective == Collective::scatter)
            call.output = rounded;
    }

    OpsBuilder& builder_;
    Rank rank_;
    const Groups& groups_;
    LeftOut& left_out_;
    std::vector<Fields> nodes_;
    std::map<std::int64_t, std::size_t> place_of_;
    std::map<std::int64_t, std::set<std::int64_t>> ends_;  // the actions that end with a node
    std::int64_t next_ = 0;
};

// A group has the ranks that a file next to the trace lists, or else those with calls in it.
Importer::Groups groups_in(const std::vector<RankFile>& files) {
    Importer::Groups listed, seen;
    for (std::size_t rank = 0; rank < files.size(); ++rank) {
        const Fields document(files[rank].document, files[rank].source);
        if (document.has("comm_groups"))
            for (const JsonField& group : *document.at("comm_groups").object())
                listed[group.name] = document.object("comm_groups").numbers(group.name.c_str());
        for (const Fields& node : document.objects("messages")) {
            if (node.number("type") != collective) continue;
            auto& ranks = seen[group_in(node)];
            const auto one = static_cast<std::int64_t>(rank);
            if (ranks.empty() || ranks.back() != one) ranks.push_back(one);
        }
    }
    listed.merge(seen);
    return listed;
}

}  // namespace

OpsTrace ops_of_messages(const std::vector<RankFile>& files, std::string& note) {
    const auto groups = groups_in(files);
    OpsBuilder builder(int_size(files));
    LeftOut left_out;
    for (std::size_t rank = 0; rank < files.size(); ++rank)
        Importer(builder, {static_cast<int>(rank)}, files[rank], groups, left_out).import();
    note = "the trace has bytes without types: calls use float32 where the size allows";
    add_note(note, left_out.in_words());
    return builder.done();
}

}  // namespace tutti
