// SPDX-License-Identifier: Apache-2.0
#include "results/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "results/records/share_of_limit.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// Numbers that get larger lose decimals rather than their column.
std::string fitted(double value, int width) {
    for (const int decimals : {2, 1, 0}) {
        const auto text = fmt::format("{:.{}f}", value, decimals);
        if (int_size(text) <= width || decimals == 0) return text;
    }
    return {};
}

bool measured(const Point* point) { return point != nullptr && !point->skipped; }

// A candidate that chooses also shows its choice.
std::string name_in_row(const Key& key, const TableRow& row) {
    const std::string name = candidate_name(key, row.segment);
    for (const Point* point : {row.out_of_place, row.in_place})
        if (point != nullptr && !point->choice.empty())
            return fmt::format("{}: {}", name, point->choice);
    return name;
}

// algorithm, transport, interval, n, share of the limit: of the two placements the wider interval,
// the fewer samples and the lesser share, so that a row never looks better than its worse half. "!"
// if either beats its limit.
std::string candidate_cells(const Key& key, const TableRow& row) {
    std::optional<double> width;
    std::optional<std::size_t> n;
    std::optional<double> share;
    bool beats = false;
    for (const Point* point : {row.out_of_place, row.in_place}) {
        if (!measured(point)) continue;
        width = std::max(width.value_or(0), half_width(point->time));
        n = std::min(n.value_or(point->time.n), point->time.n);
        beats = beats || beats_limit(*point);
        if (point->pct_of_limit)
            share = std::min(share.value_or(*point->pct_of_limit), *point->pct_of_limit);
    }
    return fmt::format("  {:<28}  {:<10}  {:>6}  {:>6}  {:>5}", name_in_row(key, row),
                       key.configuration.transport + (is_virtual(key) ? "(v)" : ""),
                       width && std::isfinite(*width) ? fmt::format("{:.1f}", 100 * *width) : "N/A",
                       n ? std::to_string(*n) : "N/A",
                       share ? fmt::format("{:.0f}{}", *share, beats ? "!" : "") : "N/A");
}

// How far the model was off, as a factor of at least 1.
double factor_off(const Point& point) {
    const double ratio = *point.predicted_ns / static_cast<double>(point.time.p50);
    return std::max(ratio, 1 / ratio);
}

bool is_far_off(double factor) { return factor > 2; }

// Bytes a call of the busier direction, of the placement that moved more.
std::string wire_cell(const TableRow& row) {
    double most = 0;
    for (const Point* point : {row.out_of_place, row.in_place})
        if (measured(point) && point->measured.network_bytes)
            most = std::max({most, point->measured.network_bytes->tx_per_call,
                             point->measured.network_bytes->rx_per_call});
    return fmt::format("  {:>12}", most > 0 ? fmt::format("{:.0f}", most) : "N/A");
}

// Returns the energy of packages and GPUs together, for the placement that took more.
std::string energy_cell(const TableRow& row) {
    double most = 0;
    for (const Point* point : {row.out_of_place, row.in_place})
        if (measured(point))
            most = std::max(most, point->measured.energy_J.value_or(0) +
                                      point->measured.gpu_energy_J.value_or(0));
    return fmt::format("  {:>9}", most > 0 ? fmt::format("{:.4g}", most) : "N/A");
}

// Shows the prediction for calls out of place, which models predict; "!" if it is off by more than
// a factor of 2.
std::string predicted_cell(const TableRow& row) {
    const Point* point = row.out_of_place;
    if (!measured(point) || !point->predicted_ns) return fmt::format("  {:>9} ", "N/A");
    return fmt::format("  {:>9}{}", fitted(*point->predicted_ns / 1000, 9),
                       is_far_off(factor_off(*point)) ? "!" : " ");
}

std::string skip_comment(const Point& point, std::string_view placement, SegmentInName segment) {
    const Key& key = point.key;
    return fmt::format(
        "# skipped: {}{} at {}{}: {}\n", candidate_name(key, segment),
        key.configuration.transport.empty() ? "" : " over " + key.configuration.transport,
        to_string(key.bytes), placement, *point.skipped);
}

// Said once where both placements were skipped for the same reason.
std::string skip_comments(const TableRow& row) {
    const bool out = row.out_of_place != nullptr && row.out_of_place->skipped;
    const bool in = row.in_place != nullptr && row.in_place->skipped;
    if (out && in && *row.out_of_place->skipped == *row.in_place->skipped)
        return skip_comment(*row.out_of_place, "", row.segment);
    return (out ? skip_comment(*row.out_of_place, " out-of-place", row.segment) : "") +
           (in ? skip_comment(*row.in_place, " in-place", row.segment) : "");
}

std::string heading(std::string_view size, std::string_view count, std::string_view type,
                    std::string_view redop, std::string_view root, std::string_view time,
                    std::string_view bandwidths, std::string_view candidate) {
    return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {}  {:>7}  {}  {}\n", size,
                       count, type, redop, root, time, bandwidths, time, bandwidths, candidate);
}

std::string model_line(std::span<const Point> points) {
    std::vector<double> factors;
    for (const Point& point : points)
        if (!point.skipped && point.predicted_ns && point.time.p50 > 0 && !point.key.inplace)
            factors.push_back(factor_off(point));
    if (factors.empty()) return "";
    const auto far_off = std::ranges::count_if(factors, is_far_off);
    return fmt::format(
        "# Model                : off by {:.0f} % in the median, by more than a factor of 2 (!) at "
        "{} of {}\n",
        100 * (median(factors) - 1), far_off, factors.size());
}

}  // namespace

std::vector<TableRow> rows_of(std::span<const Point> points) {
    const auto half_of = [](auto& row, const Point& point) -> auto& {
        return point.key.inplace ? row.in_place : row.out_of_place;
    };
    std::vector<TableRow> rows;
    for (const Point& point : points) {
        Key other_half = point.key;
        other_half.inplace = !other_half.inplace;
        const auto row = std::ranges::find_if(rows, [&](const TableRow& one) {
            const Point* known = one.out_of_place != nullptr ? one.out_of_place : one.in_place;
            return half_of(one, point) == nullptr && known->key == other_half;
        });
        half_of(row == rows.end() ? rows.emplace_back() : *row, point) = &point;
    }
    return rows;
}

TableColumns columns_of(std::span<const Point> points) {
    const auto has = [&](auto field) {
        return std::ranges::any_of(points, [&](const Point& point) { return field(point); });
    };
    return {.wire = has([](const Point& one) { return one.measured.network_bytes.has_value(); }),
            .energy = has([](const Point& one) {
                return one.measured.energy_J || one.measured.gpu_energy_J;
            }),
            .predicted = has([](const Point& one) { return one.predicted_ns.has_value(); })};
}

std::string table_header(std::span<const std::string> notes, TableColumns columns) {
    std::string text;
    for (const auto& note : notes) text += "# " + note + '\n';
    text += "#\n";
    text += fmt::format("# {:54}out-of-place                       in-place\n", "");
    text += heading("size", "count", "type", "redop", "root", "time", " algbw   busbw  #wrong",
                    fmt::format("{:<28}  {:<10}  {:>6}  {:>6}  {:>5}", "algorithm", "transport",
                                "p50ci", "n", "%lim") +
                        (columns.wire ? fmt::format("  {:>12}", "wire") : "") +
                        (columns.energy ? fmt::format("  {:>9}", "energy") : "") +
                        (columns.predicted ? fmt::format("  {:>9}", "model") : ""));
    text += heading("(B)", "(elements)", "", "", "", "(us)", "(GB/s)  (GB/s)        ",
                    fmt::format("{:<28}  {:<10}  {:>6}", "", "", "(+-%)") +
                        (columns.wire || columns.energy || columns.predicted
                             ? fmt::format("  {:>6}  {:>5}", "", "")
                             : "") +
                        (columns.wire ? fmt::format("  {:>12}", "(B/call)") : "") +
                        (columns.energy ? fmt::format("  {:>9}", "(J/call)") : "") +
                        (columns.predicted ? fmt::format("  {:>9}", "(us)") : ""));
    return text;
}

std::string key_cells(const Key& key) {
    return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", key.bytes.count, key.count,
                       name_of(key.dtype), key.op ? name_of(*key.op) : "none",
                       key.root ? key.root->index : -1);
}

std::string placement_cells(const Point* point) {
    if (!measured(point))
        return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
    const bool checked = point->measured.check.state != CheckState::skipped;
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}",
                       fitted(static_cast<double>(point->time.p50) / 1000, 7),
                       fitted(point->bandwidth.algbw, 6), fitted(point->bandwidth.busbw, 6),
                       checked ? std::to_string(point->measured.check.n_wrong) : "N/A");
}

std::string table_row(const TableRow& row, TableColumns columns) {
    const Point& known = row.out_of_place != nullptr ? *row.out_of_place : *row.in_place;
    const Key& key = known.key;
    std::string text = skip_comments(row);
    if (!measured(row.out_of_place) && !measured(row.in_place)) return text;
    return text + key_cells(key) + placement_cells(row.out_of_place) +
           placement_cells(row.in_place) + candidate_cells(key, row) +
           (columns.wire ? wire_cell(row) : "") + (columns.energy ? energy_cell(row) : "") +
           (columns.predicted ? predicted_cell(row) : "") + '\n';
}

TableTotals totals_of(std::span<const Point> points) {
    TableTotals totals;
    std::size_t measured_points = 0;
    for (const Point& point : points) {
        if (point.skipped) continue;
        totals.wrong += point.measured.check.n_wrong;
        if (point.measured.check.state == CheckState::fail) totals.is_right = false;
        totals.busbw += point.bandwidth.busbw;
        ++measured_points;
    }
    if (totals.wrong != 0) totals.is_right = false;
    if (measured_points > 0) totals.busbw /= static_cast<double>(measured_points);
    return totals;
}

std::string totals_in_words(const TableTotals& totals) {
    return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}",
                       totals.wrong, totals.is_right ? "OK" : "FAILED", totals.busbw);
}

std::string table_footer(std::span<const Point> points) {
    return model_line(points) + limit_line(points) + totals_in_words(totals_of(points)) + "\n#\n";
}

}  // namespace tutti
