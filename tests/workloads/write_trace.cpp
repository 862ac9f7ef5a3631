// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/write_trace.hpp"

#include "base/json_writer.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

Json us(std::int64_t ns) {
    if (ns % 1000 == 0) return ns / 1000;
    return static_cast<double>(ns) / 1000;
}

Json list_of_us(const std::vector<std::int64_t>& ns) {
    Json list = Json::array();
    for (const std::int64_t one : ns) list.push_back(us(one));
    return list;
}

class Writer {
public:
    std::string write(const Trace& trace) {
        Json head = {{"schema", trace_schema}, {"form", "lines"}};
        const bool is_gradients = std::holds_alternative<GradientTrace>(trace.what);
        head["kind"] = is_gradients ? "gradients" : "ops";
        const std::pair<const char*, const std::string*> origin[] = {
            {"model", &trace.model},   {"source", &trace.source},       {"licence", &trace.licence},
            {"device", &trace.device}, {"framework", &trace.framework}, {"note", &trace.note}};
        for (const auto& [name, text] : origin)
            if (!text->empty()) head[name] = *text;
        if (trace.world > 0) head["world"] = trace.world;
        if (is_gradients)
            write(std::get<GradientTrace>(trace.what), std::move(head));
        else
            write(std::get<OpsTrace>(trace.what), std::move(head));
        add({{"line", "end"}, {"lines", lines_ + 1}});
        return std::move(text_);
    }

private:
    void add(const Json& line) {
        text_ += one_line(line) + "\n";
        ++lines_;
    }

    void write(const GradientTrace& trace, Json head) {
        head["dtype"] = trace_name_of(trace.type);
        head["ready_order"] = trace.ready_order;
        add(head);
        for (std::size_t id = 0; id < trace.parameters.size(); ++id)
            add({{"line", "parameter"},
                 {"id", id},
                 {"name", trace.parameters[id].name},
                 {"shape", trace.parameters[id].shape}});
        for (const Buffer& one : trace.buffers)
            add({{"line", "buffer"}, {"numel", one.count}, {"elem_bytes", one.element.count}});
        for (const Bucket& one : trace.buckets)
            add({{"line", "bucket"}, {"numel", one.count}, {"params", one.parameters}});
        for (const auto& one : trace.iterations) {
            Json line = {{"line", "iteration"},
                         {"rank", one.rank},
                         {"forward_us", us(one.forward_ns)},
                         {"backward_us", us(one.backward_ns)},
                         {"optimizer_us", us(one.optimizer_ns)},
                         {"ready_us", list_of_us(one.ready_ns)}};
            for (const auto& call : one.all_reduces)
                line["allreduce"].push_back({{"numel", call.count},
                                             {"start_us", us(call.start_ns)},
                                             {"dur_us", us(call.duration_ns)}});
            add(line);
        }
    }

    void write(const OpsTrace& trace, Json head) {
        head["world"] = trace.ranks.size();
        add(head);
        for (std::size_t id = 0; id < trace.groups.size(); ++id) {
            Json ranks = Json::array();
            for (const Rank rank : trace.groups[id]) ranks.push_back(rank.index);
            add({{"line", "group"}, {"id", id}, {"ranks", ranks}});
        }
        for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank)
            for (const TraceOp& op : trace.ranks[rank]) add(line_of(rank, op));
    }

    static Json line_of(std::size_t rank, const TraceOp& op) {
        Json line = {{"line", "op"}, {"rank", rank}, {"op", name_of(op)}};
        if (op.id >= 0) line["id"] = op.id;
        line["phase"] = trace_name_of(op.phase);
        if (!op.after.empty()) line["deps"] = op.after;
        using Kind = TraceOp::Kind;
        if (op.kind == Kind::compute) line["compute_us"] = us(op.compute_ns);
        if (op.kind == Kind::compute || op.kind == Kind::wait) return line;
        if (op.kind == Kind::send || op.kind == Kind::recv)
            line["peer"] = op.peer.index;
        else
            line["group"] = op.group;
        if (!has_buffers(op.collective)) return line;
        line["dtype"] = trace_name_of(op.type);
        line["count"] = op.count;
        if (!op.sends.empty()) line["in_split"] = op.sends;
        if (!op.receives.empty()) line["out_split"] = op.receives;
        if (op.kind == Kind::collective && has_root(op.collective)) line["root"] = op.root.index;
        return line;
    }

    static std::string_view name_of(const TraceOp& op) {
        switch (op.kind) {
            case TraceOp::Kind::compute:
                return "compute";
            case TraceOp::Kind::send:
                return "send";
            case TraceOp::Kind::recv:
                return "recv";
            case TraceOp::Kind::wait:
                return "wait";
            case TraceOp::Kind::collective:
                break;
        }
        return op.sends.empty() ? tutti::name_of(op.collective) : "all_to_allv";
    }

    std::string text_;
    std::int64_t lines_ = 0;
};

}  // namespace

std::string to_json_lines(const Trace& trace) { return Writer().write(trace); }

}  // namespace tutti
