// SPDX-License-Identifier: Apache-2.0
#include "results/tables/csv.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <vector>

namespace tutti {
namespace {

struct Column {
    std::string_view name;
    std::string (*cell)(const Point&);
    const Knob* knob = nullptr;  // or its value
};

std::string cell_of(const Column& column, const Point& point) {
    if (column.knob == nullptr) return column.cell(point);
    return std::to_string(column.knob->of(point.key.configuration));
}

std::string known(const std::optional<double>& value) {
    return value ? fmt::format("{:.1f}", *value) : "";
}

std::string wire_bytes(const Point& point, double NetworkBytes::*direction) {
    return point.measured.network_bytes
               ? fmt::format("{:.0f}", *point.measured.network_bytes.*direction)
               : "";
}

std::string joules(const std::optional<double>& energy) {
    return energy ? fmt::format("{}", *energy) : "";
}

// Columns of every point, skipped or not.
constexpr Column identity_columns[] = {
    {"session", [](const Point& p) { return p.session; }},
    {"launch", [](const Point& p) { return std::to_string(p.launch); }},
    {"point", [](const Point& p) { return point_id(p.key); }},
    {"coll", [](const Point& p) { return std::string(name_of(p.key.coll)); }},
    {"impl", [](const Point& p) { return p.key.configuration.impl; }},
    {"algo", [](const Point& p) { return p.key.configuration.algorithm; }},
    {"transport", [](const Point& p) { return p.key.configuration.transport; }},
    {"dtype", [](const Point& p) { return std::string(name_of(p.key.dtype)); }},
    {"op", [](const Point& p) { return std::string(p.key.op ? name_of(*p.key.op) : "none"); }},
    {"root", [](const Point& p) { return std::to_string(p.key.root ? p.key.root->index : -1); }},
    {"count", [](const Point& p) { return std::to_string(p.key.count); }},
    {"bytes", [](const Point& p) { return std::to_string(p.key.bytes.count); }},
    {"inplace", [](const Point& p) { return std::string(p.key.inplace ? "1" : "0"); }},
    {"buf", [](const Point& p) { return p.key.buf; }},
    {"nranks", [](const Point& p) { return std::to_string(p.key.nranks); }},
    {"ppn", [](const Point& p) { return std::to_string(p.key.ppn); }},
    {knobs.front().key_name, nullptr, &knobs.front()},
    {"placement", [](const Point& p) { return p.key.placement; }},
    {"input", [](const Point& p) { return p.key.input; }},
    {"order", [](const Point& p) { return p.key.configuration.order; }},
};

const std::vector<Column> columns_of_point = [] {
    std::vector<Column> columns(std::begin(identity_columns), std::end(identity_columns));
    for (const Knob& knob : std::span(knobs).subspan(1))
        columns.push_back({knob.key_name, nullptr, &knob});
    columns.push_back({"skipped", [](const Point& p) { return p.skipped.value_or(""); }});
    return columns;
}();

// Columns of measured points only.
constexpr Column measured_columns[] = {
    {"mode", [](const Point& p) { return std::string(name_of(p.measured.start)); }},
    {"def", [](const Point& p) { return std::string(name_of(p.measured.from)); }},
    {"n", [](const Point& p) { return std::to_string(p.time.n); }},
    {"n_invalid", [](const Point& p) { return std::to_string(p.measured.n_invalid); }},
    {"n_warm", [](const Point& p) { return std::to_string(p.measured.n_warm); }},
    {"calls_of_sample", [](const Point& p) { return std::to_string(p.measured.calls_of_sample); }},
    {"stop_reason", [](const Point& p) { return p.measured.stop_reason; }},
    {"min_ns", [](const Point& p) { return std::to_string(p.time.min); }},
    {"p05_ns", [](const Point& p) { return std::to_string(p.time.p05); }},
    {"p25_ns", [](const Point& p) { return std::to_string(p.time.p25); }},
    {"p50_ns", [](const Point& p) { return std::to_string(p.time.p50); }},
    {"p75_ns", [](const Point& p) { return std::to_string(p.time.p75); }},
    {"p95_ns", [](const Point& p) { return std::to_string(p.time.p95); }},
    {"p99_ns", [](const Point& p) { return std::to_string(p.time.p99); }},
    {"max_ns", [](const Point& p) { return std::to_string(p.time.max); }},
    {"mean_ns", [](const Point& p) { return fmt::format("{:.1f}", p.time.mean); }},
    {"sd_ns", [](const Point& p) { return fmt::format("{:.1f}", p.time.sd); }},
    {"ci95_lo_ns", [](const Point& p) { return std::to_string(p.time.ci95_lo); }},
    {"ci95_hi_ns", [](const Point& p) { return std::to_string(p.time.ci95_hi); }},
    {"rho1", [](const Point& p) { return fmt::format("{:.3f}", p.time.rho1); }},
    {"n_slow", [](const Point& p) { return std::to_string(p.time.n_slow); }},
    {"skew_p50_ns", [](const Point& p) { return std::to_string(p.measured.skew_p50_ns); }},
    {"algbw_GBps", [](const Point& p) { return fmt::format("{}", p.bandwidth.algbw); }},
    {"busbw_GBps", [](const Point& p) { return fmt::format("{}", p.bandwidth.busbw); }},
    {"wire_tx_bytes_per_call",
     [](const Point& p) { return wire_bytes(p, &NetworkBytes::tx_per_call); }},
    {"wire_rx_bytes_per_call",
     [](const Point& p) { return wire_bytes(p, &NetworkBytes::rx_per_call); }},
    {"energy_J", [](const Point& p) { return joules(p.measured.energy_J); }},
    {"gpu_energy_J", [](const Point& p) { return joules(p.measured.gpu_energy_J); }},
    {"check", [](const Point& p) { return std::string(name_of(p.measured.check.state)); }},
    {"n_wrong", [](const Point& p) { return std::to_string(p.measured.check.n_wrong); }},
    {"limit_ns", [](const Point& p) { return known(p.limit_ns); }},
    {"pct_of_limit", [](const Point& p) { return known(p.pct_of_limit); }},
    {"predicted_ns", [](const Point& p) { return known(p.predicted_ns); }},
    {"choice", [](const Point& p) { return p.choice; }},
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

template <class Cell>
void write_row(std::ostream& out, const Cell& cell) {
    std::string row;
    for (const auto& column : columns_of_point) row += quoted(cell(column, false)) + ',';
    for (const auto& column : measured_columns) row += quoted(cell(column, true)) + ',';
    row.back() = '\r';
    out << row << '\n';
}

}  // namespace

void write_csv(std::ostream& out, std::span<const Point> points) {
    write_row(out, [](const Column& column, bool) { return std::string(column.name); });
    for (const Point& point : points)
        write_row(out, [&](const Column& column, bool measured) {
            return measured && point.skipped ? std::string() : cell_of(column, point);
        });
}

}  // namespace tutti
