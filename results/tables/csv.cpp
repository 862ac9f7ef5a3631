// SPDX-License-Identifier: Apache-2.0
#include "results/tables/csv.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "results/records/metric.hpp"
#include "results/records/record_fields.hpp"

namespace tutti {
namespace {

// A column, and the place of its cells in the JSON of a record.
struct Column {
    std::string name;
    Json::json_pointer place;
    std::string absent = "";  // the cell where the record has no such field
};
using Columns = std::vector<Column>;

void add(Columns& columns, const std::string& name, const std::string& place,
         const std::string& absent = "") {
    columns.push_back({name, Json::json_pointer("/" + place), absent});
}

// Adds fields that have the names of their columns. `folder` is their object: "key/".
void add(Columns& columns, std::initializer_list<const char*> names,
         const std::string& folder = "") {
    for (const char* name : names) add(columns, name, folder + name);
}

void add_interval(Columns& columns, const std::string& of) {
    add(columns, "ci95_" + of + "_low_ns", "ci95_" + of + "_ns/0");
    add(columns, "ci95_" + of + "_high_ns", "ci95_" + of + "_ns/1");
}

// Columns of all kinds of records.
Columns heads() {
    Columns columns;
    add(columns, {"session", "launch", "t", "git", "machine", "metric"});
    return columns;
}

// The columns are those of python/tutti/columns.py; a test compares them.
Columns csv_columns(const Point&) {
    Columns columns = heads();
    add(columns, {"point"});
    add(columns,
        {"coll", "impl", "algo", "transport", "dtype", "op", "root", "count", "bytes", "inplace",
         "buf", "nranks", "ppn"},
        "key/");
    for (const Knob& knob : knobs)
        add(columns, knob.key_name, std::string("key/") + knob.key_name,
            std::to_string(knob.of(Configuration{})));
    add(columns, {"placement", "input", "blocks", "aggressor"}, "key/");
    add(columns, "rank_order", "key/order");
    add(columns, {"hosts", "skipped", "mode", "def", "n", "n_invalid", "n_warm", "calls_of_sample",
                  "stop_reason"});
    for (const char* name : {"min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd"})
        add(columns, std::string(name) + "_ns", std::string("t_ns/") + name);
    add_interval(columns, "p50");
    add(columns, {"rho1", "n_slow", "skew_p50_ns", "device_p50_ns", "clock_residual_ns",
                  "algbw_GBps", "busbw_GBps"});
    for (const char* name : {"tx_bytes_per_call", "rx_bytes_per_call"})
        add(columns, std::string("wire_") + name, std::string("wire/") + name);
    add(columns, {"energy_J", "gpu_energy_J"});
    add(columns, "check_state", "check/state");
    add(columns, "n_wrong", "check/n_wrong");
    add(columns, {"limit_ns", "pct_of_limit", "predicted_ns", "choice"});
    return columns;
}

Columns csv_columns(const TrainingStep&) {
    Columns columns = heads();
    const auto medians = [&](std::initializer_list<const char*> parts) {
        for (const char* part : parts)
            add(columns, std::string(part) + "_ns", std::string(part) + "_ns/p50");
    };
    add(columns,
        {"workload", "model", "compute", "buffers", "settings", "placement", "way", "nranks",
         "ppn"},
        "key/");
    add(columns, {"hosts"});
    add(columns, {"bytes", "calls"}, "key/");
    add(columns, {"skipped", "n"});
    medians({"step"});
    add_interval(columns, "step");
    medians({"compute", "communication", "exposed"});
    add_interval(columns, "exposed");
    medians({"computing", "wait", "work"});
    add(columns, {"overlap", "slowdown", "bound_ns"});
    add(columns, "check_state", "check/state");
    add(columns, "n_wrong", "check/n_wrong");
    return columns;
}

Columns csv_columns(const VerdictRecord&) {
    Columns columns = heads();
    add(columns,
        {"verdict", "ratio", "low", "high", "confidence", "p", "noise", "mde", "a_ns", "b_ns",
         "unit", "higher_is_better", "n_launch", "stage", "rule", "to_decide", "nranks", "method"});
    constexpr std::pair<const char*, const char*> defaults[] = {{"p", "1.0"},
                                                                {"unit", "ns"},
                                                                {"higher_is_better", "0"},
                                                                {"stage", "1"},
                                                                {"method", "turns"}};
    for (const auto& [name, cell] : defaults)
        std::ranges::find(columns, name, &Column::name)->absent = cell;
    return columns;
}

// The run that a record belongs to.
class Runs {
public:
    explicit Runs(const Results& results) {
        for (const Session& session : results.sessions) sessions_[session.id] = &session;
        for (const Launch& launch : results.launches)
            launches_[{launch.session, launch.launch}] = &launch;
    }

    // The fields of a record with those of its run.
    Json json_of(const auto& record) const {
        Json json = encode(record);
        const auto put = [&](const char* name, const std::string& text) {
            if (!text.empty()) json[name] = text;
        };
        int number = 1;
        if constexpr (requires { record.launch; }) number = record.launch;
        const auto session = sessions_.find(record.session);
        const auto launch = launches_.find({record.session, number});
        if (session != sessions_.end()) {
            put("t", session->second->t);
            put("git", session->second->tool.git);
        }
        if (launch != launches_.end()) {
            put("t", launch->second->t);
            put("machine", launch->second->topo_sha256);
        }
        if constexpr (requires { metric_of(record.key); }) {
            json["metric"] = metric_of(record.key);
            json["hosts"] = hosts_of(record.key.nranks, record.key.ppn);
        }
        if constexpr (requires { record.measured; }) {
            json["point"] = point_id(record.key);
            if (!record.skipped) json["calls_of_sample"] = record.measured.calls_of_sample;
        }
        return json;
    }

private:
    std::map<std::string, const Session*> sessions_;
    std::map<std::pair<std::string, int>, const Launch*> launches_;
};

std::string quoted(const std::string& cell) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
    std::string text = "\"";
    for (const char letter : cell) {
        if (letter == '"') text += '"';
        text += letter;
    }
    return text + '"';
}

std::string cell_of(const Json& record, const Column& column) {
    if (!record.contains(column.place)) return column.absent;
    const Json& value = record.at(column.place);
    if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
    return value.is_string() ? quoted(value.get<std::string>()) : value.dump();
}

void write_row(std::ostream& out, const Columns& columns, const auto& cell) {
    std::string row;
    for (const Column& column : columns) row += cell(column) + ',';
    row.back() = '\r';
    out << row << '\n';
}

template <class Record>
void write_table(std::ostream& out, const Results& results, const std::vector<Record>& records) {
    const Columns columns = csv_columns(Record{});
    const Runs runs(results);
    write_row(out, columns, [](const Column& column) { return column.name; });
    for (const Record& record : records) {
        const Json json = runs.json_of(record);
        write_row(out, columns, [&](const Column& column) { return cell_of(json, column); });
    }
}

}  // namespace

void write_csv(std::ostream& out, const Results& results) {
    const bool has_points = !results.points.empty(), has_steps = !results.steps.empty(),
               has_verdicts = !results.verdicts.empty();
    if ((has_points && has_steps) || (has_verdicts && (has_points || has_steps)))
        throw Error(
            "points, training steps and verdicts of comparisons have different columns; use files "
            "of one kind, or 'tutti results export'");
    if (has_steps)
        write_table(out, results, results.steps);
    else if (has_verdicts)
        write_table(out, results, results.verdicts);
    else
        write_table(out, results, results.points);
}

}  // namespace tutti
