// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

using List = JsonValue::List;

// One rank's execution trace. A node record_param_comms has as its inputs: the tensors (not for
// wait and barrier), the number of the call, its process group as [name, description], a rank (the
// peer's or the root's place in the group), the name of the call, and the splits in and out.
class Importer {
public:
    Importer(OpsBuilder& builder, Rank rank, const RankFile& file, LeftOut& left_out)
        : builder_(builder),
          rank_(rank),
          document_(file.document, file.source),
          left_out_(left_out) {}

    void import() {
        for (const Fields& node : document_.objects("nodes"))
            if (node.text("name").find("process_group:init") != std::string::npos)
                read_groups(node);
        for (const Fields& node : document_.objects("nodes"))
            if (node.text("name") == "record_param_comms") import(node);
    }

    // Returns the rank that calls of all ranks name; none if they differ or there is none.
    std::optional<std::int64_t> own_rank() const {
        std::optional<std::int64_t> rank;
        for (const Fields& node : document_.objects("nodes")) {
            if (node.text("name") != "record_param_comms") continue;
            const List& values = inputs_of(node);
            const std::size_t at_name = place_of_name(values);
            if (at_name < 3 || at_name == values.size()) continue;
            std::string name = *values[at_name].text();
            std::erase_if(name, [](char c) { return c == '_'; });
            const std::int64_t* const own = values[at_name - 1].whole_number();
            const List* const group = values[at_name - 2].list();
            const bool is_of_all = group && group->size() == 2 && (*group)[1].text() &&
                                   *(*group)[1].text() == "default_pg";
            if (!own || !is_of_all || !(name.starts_with("all") || name.starts_with("reducesc")))
                continue;
            if (rank && *rank != *own) return std::nullopt;
            rank = *own;
        }
        return rank;
    }

private:
    // Reads a list written as text. PyTorch truncates long ones; then all ranks are assumed.
    void read_groups(const Fields& node) {
        const List& values = inputs_of(node);
        if (values.empty() || !values.front().text()) return;
        const Source source(*values.front().text(), "process groups");
        JsonValue groups;
        try {
            groups = parse_json(source);
        } catch (const Error&) {
            return;
        }
        if (!groups.list()) return;
        for (const JsonValue& one : *groups.list()) {
            const JsonValue *name = one.find("pg_name"), *ranks = one.find("ranks");
            if (name && name->text() && ranks && ranks->list())
                groups_[*name->text()] =
                    with_place(node, [&] { return Fields(one, source).numbers("ranks"); });
        }
    }

    // Schema 1.1.1 has "inputs": {"values", "types"}; older ones have them side by side.
    static const List& inputs_of(const Fields& node) {
        return part_of(node, "inputs", "values", "inputs");
    }
    static const List& part_of(const Fields& node, const char* side, const char* part,
                               const char* old) {
        static const JsonValue none{0, List{}};
        const bool is_new = node.has(side) && node.at(side).object();
        const JsonValue* all = is_new          ? node.at(side).find(part)
                               : node.has(old) ? &node.at(old)
                                               : nullptr;
        if (!all) all = &none;
        if (!all->list()) node.refuse(fmt::format("'{}' is not a list", old));
        return *all->list();
    }

    // Returns the elements of the tensors in a value: [id, storage, offset, elements, bytes,
    // device], or lists of these.
    static std::int64_t elements_in(const JsonValue& value) {
        const List* list = value.list();
        if (!list || list->empty()) return 0;
        if (!list->front().list()) {
            const auto* elements = list->size() >= 5 ? (*list)[3].whole_number() : nullptr;
            if (!elements) return 0;
            // Clamps sizes, so that the sum does not overflow before it is refused.
            return *elements < 0 ? most_elements + 1 : std::min(*elements, most_elements + 1);
        }
        std::int64_t sum = 0;
        for (const JsonValue& one : *list) sum += elements_in(one);
        return sum;
    }

    // Returns Tensor(float) for "GenericList[Tensor(float),Tensor(float)]".
    static std::string type_in(std::string types) {
        while (types.starts_with("GenericList[")) types = types.substr(12);
        return types.substr(0, types.find(')') == std::string::npos ? types.find_first_of(",]")
                                                                    : types.find(')') + 1);
    }

    static std::vector<std::int64_t> splits_in(const JsonValue& value) {
        std::vector<std::int64_t> splits;
        if (value.list())
            for (const JsonValue& one : *value.list())
                if (one.whole_number()) splits.push_back(*one.whole_number());
        return splits;
    }

    // Versions of PyTorch add inputs after the name, which two lists (the splits) follow. Returns
    // the number of inputs if there is no name.
    static std::size_t place_of_name(const List& values) {
        std::size_t first_text = values.size();
        for (std::size_t i = values.size(); i-- > 0;) {
            if (!values[i].text()) continue;
            if (i + 2 < values.size() && values[i + 1].list() && values[i + 2].list()) return i;
            first_text = i;
        }
        return first_text;
    }

    void import(const Fields& node) {
        const List& values = inputs_of(node);
        const std::size_t at_name = place_of_name(values);
        if (at_name < 3 || at_name == values.size())
            node.refuse("its inputs are not those of record_param_comms");
        // The inputs before the name are the tensors, if there are any, and three others.
        const std::size_t shift = at_name > 3 ? 0 : 1;
        const std::string& name = *values[at_name].text();
        if (name == "init") return;
        const std::string request = text_of(values[at_name - 3]);
        if (name == "wait") return wait(node, request);
        const List& types = part_of(node, "inputs", "types", "input_types");
        std::string type = "float32";
        if (shift == 0 && !types.empty() && types.front().text())
            type = type_in(*types.front().text());
        if (type == "GenericList[]" || type.empty()) type = "float32";  // no tensors
        const auto found = replayable(name, type, left_out_);
        if (!found) return;
        const OpName what = *found;
        ImportedCall call{.what = what, .rank = rank_};
        const JsonValue& group = values[at_name - 2];
        const JsonValue& key =
            group.list() && !group.list()->empty() ? group.list()->front() : group;
        if (key.text())
            if (const auto known = groups_.find(*key.text()); known != groups_.end())
                call.group = known->second;
        if (shift == 0) {
            call.type = type;
            call.input = elements_in(values.front());
            const List& outputs = part_of(node, "outputs", "values", "outputs");
            call.output = outputs.empty() ? call.input : elements_in(outputs.front());
        }
        if (values.size() > at_name + 2) {
            call.sends = splits_in(values[at_name + 1]);
            call.receives = splits_in(values[at_name + 2]);
        }
        const bool is_to_one = what.kind == TraceOp::Kind::send || what.kind == TraceOp::Kind::recv;
        const bool is_rooted = what.kind == TraceOp::Kind::collective && has_root(what.collective);
        const std::int64_t* const place = values[at_name - 1].whole_number();
        if (place != nullptr && (is_to_one || is_rooted)) {
            const bool has_place =
                *place >= 0 && *place < static_cast<std::int64_t>(call.group.size());
            (is_to_one ? call.peer : call.root) = has_place ? at(call.group, *place) : *place;
        }
        TraceOp op = op_of(call, builder_, node);
        op.id = next_;
        id_of_[request] = next_++;
        builder_.add(rank_, std::move(op));
    }

    // Frameworks also wait for calls that have ended, and for calls before the trace.
    void wait(const Fields& node, const std::string& request) {
        const auto call = id_of_.find(request);
        if (call == id_of_.end()) return;
        TraceOp op;
        op.kind = TraceOp::Kind::wait;
        op.place = node.place();
        op.after = {call->second};
        builder_.add(rank_, std::move(op));
    }

    OpsBuilder& builder_;
    Rank rank_;
    Fields document_;
    LeftOut& left_out_;
    std::map<std::string, std::vector<std::int64_t>> groups_;
    std::map<std::string, std::int64_t> id_of_;
    std::int64_t next_ = 0;
};

}  // namespace

OpsTrace ops_of_chakra(const std::vector<RankFile>& files, std::string& note) {
    OpsBuilder builder(int_size(files));
    LeftOut left_out;
    for (std::size_t rank = 0; rank < files.size(); ++rank)
        Importer(builder, {static_cast<int>(rank)}, files[rank], left_out).import();
    note = "an execution trace has no times: nothing is computed between the calls";
    if (const int settled = builder.settle_roots(); settled > 0)
        add_note(note, fmt::format("{} calls have no root: the first rank of their group is used",
                                   settled));
    add_note(note, left_out.in_words());
    return builder.done();
}

std::optional<std::int64_t> rank_in_execution_trace(const RankFile& file) {
    OpsBuilder none(1);
    LeftOut left_out;
    return Importer(none, {0}, file, left_out).own_rank();
}

}  // namespace tutti
