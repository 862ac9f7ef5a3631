// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "workloads/traces/imported_call.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

using Json = nlohmann::json;

// One rank's execution trace. A node record_param_comms has as its inputs: the tensors (not for
// wait and barrier), the number of the call, its process group as [name, description], a rank (the
// peer's place in the group), the name of the call, and the splits in and out.
class Importer {
public:
    Importer(OpsBuilder& builder, Rank rank, const RankFile& file)
        : builder_(builder), rank_(rank), document_(file.document, file.name) {}

    void import() {
        for (const Fields& node : document_.objects("nodes"))
            if (node.text("name").find("process_group:init") != std::string::npos)
                read_groups(node);
        for (const Fields& node : document_.objects("nodes"))
            if (node.text("name") == "record_param_comms") import(node);
    }

private:
    // A list as text; PyTorch cuts it when it is long, and then all ranks are assumed.
    void read_groups(const Fields& node) {
        const Json values = inputs_of(node);
        if (values.empty() || !values.front().is_string()) return;
        const Json groups = Json::parse(values.front().get<std::string>(), nullptr, false);
        if (!groups.is_array()) return;
        for (const Json& one : groups)
            if (one.is_object() && one.contains("pg_name") && one.contains("ranks") &&
                one["pg_name"].is_string() && one["ranks"].is_array())
                groups_[one["pg_name"]] = Fields(one, node_file_).numbers("ranks");
    }

    // Schema 1.1.1 has "inputs": {"values", "types"}; older ones have them side by side.
    static Json inputs_of(const Fields& node) {
        return part_of(node, "inputs", "values", "inputs");
    }
    static Json part_of(const Fields& node, const char* side, const char* part, const char* old) {
        Json all = node.has(side) && node.at(side).is_object()
                       ? node.at(side).value(part, Json::array())
                   : node.has(old) ? node.at(old)
                                   : Json::array();
        if (!all.is_array()) node.refuse(fmt::format("'{}' is no list", old));
        return all;
    }

    // Elements of the tensors in a value: [id, storage, offset, elements, bytes, device], or lists.
    static std::int64_t elements_in(const Json& value) {
        if (!value.is_array() || value.empty()) return 0;
        if (!value.front().is_array())
            return value.size() >= 5 && value[3].is_number_integer() ? value[3].get<std::int64_t>()
                                                                     : 0;
        std::int64_t sum = 0;
        for (const Json& one : value) sum += elements_in(one);
        return sum;
    }

    // "GenericList[Tensor(float),Tensor(float)]" is of Tensor(float).
    static std::string type_in(std::string types) {
        while (types.starts_with("GenericList[")) types = types.substr(12);
        return types.substr(0, types.find(')') == std::string::npos ? types.find_first_of(",]")
                                                                    : types.find(')') + 1);
    }

    static std::vector<std::int64_t> splits_in(const Json& value) {
        std::vector<std::int64_t> splits;
        if (value.is_array())
            for (const Json& one : value)
                if (one.is_number_integer()) splits.push_back(one.get<std::int64_t>());
        return splits;
    }

    void import(const Fields& node) {
        const Json values = inputs_of(node);
        // The name is the first text of the inputs after the group.
        const std::size_t shift = values.size() == 8 || values.size() == 10 ? 0 : 1;
        const std::size_t at_name = 4 - shift;
        if (values.size() <= at_name + 2 || !values[at_name].is_string())
            node.refuse("its inputs are not those of record_param_comms");
        const std::string name = values[at_name];
        if (name == "init") return;
        const OpName what = told_by(node, [&] { return op_of_trace(name); });
        const std::string request = values[1 - shift].dump();
        if (what.kind == TraceOp::Kind::wait) return wait(node, request);
        ImportedCall call{.what = what, .rank = rank_};
        const Json& group = values[2 - shift];
        const Json key = group.is_array() && !group.empty() ? group.front() : group;
        if (key.is_string())
            if (const auto known = groups_.find(key); known != groups_.end())
                call.group = known->second;
        if (shift == 0) {
            const Json types = part_of(node, "inputs", "types", "input_types");
            if (!types.empty() && types.front().is_string())
                call.type = type_in(types.front().get<std::string>());
            call.input = elements_in(values.front());
            const Json outputs = part_of(node, "outputs", "values", "outputs");
            call.output = outputs.empty() ? call.input : elements_in(outputs.front());
        }
        call.sends = splits_in(values[at_name + 1]);
        call.receives = splits_in(values[at_name + 2]);
        const bool is_to_one = what.kind == TraceOp::Kind::send || what.kind == TraceOp::Kind::recv;
        if (is_to_one && values[3 - shift].is_number_integer()) {
            const auto place = values[3 - shift].get<std::int64_t>();
            const bool has_place =
                place >= 0 && place < static_cast<std::int64_t>(call.group.size());
            call.peer = has_place ? call.group[static_cast<std::size_t>(place)] : place;
        }
        TraceOp op = op_of(call, builder_, node);
        op.id = next_;
        id_of_[request] = next_++;
        builder_.add(rank_, std::move(op));
    }

    // Frameworks also wait for calls that are over, and for what stands before the trace.
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
    std::string node_file_ = "process groups";
    std::map<std::string, std::vector<std::int64_t>> groups_;
    std::map<std::string, std::int64_t> id_of_;
    std::int64_t next_ = 0;
};

}  // namespace

OpsTrace ops_of_chakra(const std::vector<RankFile>& files, std::string& note) {
    OpsBuilder builder(static_cast<int>(files.size()));
    for (std::size_t rank = 0; rank < files.size(); ++rank)
        Importer(builder, {static_cast<int>(rank)}, files[rank]).import();
    note = "an execution trace has no times: nothing is computed between the calls";
    return builder.done();
}

}  // namespace tutti
