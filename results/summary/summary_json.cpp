// SPDX-License-Identifier: Apache-2.0
#include "results/summary/summary_json.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/rounding.hpp"
#include "results/records/record_fields.hpp"
#include "results/summary/summary_tables.hpp"

namespace tutti {
namespace {

// Where a record is in the lists of the document.
using Places = std::map<const void*, std::size_t>;

Json json_of(const Ratio& ratio) {
    Json json{{"value", ratio.value}, {"low", nullptr}, {"high", nullptr}};
    if (ratio.is_known()) {
        json["low"] = ratio.low;
        json["high"] = ratio.high;
    }
    json["launches"] = ratio.launches;
    json["significant"] = ratio.is_significant();
    return json;
}

Json json_of(const std::optional<Ratio>& ratio) { return ratio ? json_of(*ratio) : Json(); }

// Null for 0, which means that no limit is known.
Json known(double limit) { return limit > 0 ? Json(limit) : Json(); }

Json json_of(const Configuration& candidate) {
    Json json{{"impl", candidate.impl},
              {"algo", candidate.algorithm},
              {"transport", candidate.transport},
              {"order", candidate.order}};
    for (const Knob& knob : knobs) json[knob.name] = knob.of(candidate);
    return json;
}

Json json_of(const std::vector<Note>& notes) {
    constexpr const char* names[] = {"all", "ranking", "nothing"};
    Json list = Json::array();
    for (const Note& note : notes)
        list.push_back({{"mark", note.mark},
                        {"text", note.text},
                        {"leaves_reliable", names[static_cast<int>(note.leaves)]},
                        {"because", note.because}});
    return list;
}

Json places_of(const auto& records, const Places& places) {
    Json list = Json::array();
    for (const auto* record : records) list.push_back(places.at(record));
    return list;
}

// The median over the launches of a number that points may have; null if none has it.
Json middle_of(const RankedCell& cell, auto value) {
    std::vector<double> known;
    for (const Point* point : cell.points)
        if (const auto one = value(*point)) known.push_back(static_cast<double>(*one));
    return known.empty() ? Json() : Json(median(std::move(known)));
}

// Bytes and messages are the same in all launches; times are medians over them.
Json levels_of(const RankedCell& cell) {
    Json list = Json::array();
    const auto known = std::ranges::find_if(
        cell.points, [](const Point* point) { return !point->levels.empty(); });
    if (known == cell.points.end()) return list;
    for (std::size_t i = 0; i < (*known)->levels.size(); ++i) {
        Json& share = list.emplace_back(encode((*known)->levels[i]));
        share["ns"] = middle_of(cell, [&](const Point& point) {
            return i < point.levels.size() ? point.levels[i].ns : std::nullopt;
        });
    }
    return list;
}

// Describes the best choice at one size, and whether it is more than chance.
Json choice_at(const Ranking& ranking, const RankedSize& size) {
    const auto library = ranking.library();
    const RankedCell* challenger = nullptr;
    std::size_t unknown = 0;
    Json tied = Json::array();
    for (const std::size_t place : size.order) {
        const RankedCell& cell = size.cells[place];
        if (challenger == nullptr && cell.candidate != library) challenger = &cell;
        if (&cell == &size.best()) continue;
        if (cell.is_tied)
            tied.push_back(cell.candidate);
        else if (cell.is_unknown)
            ++unknown;
    }
    const auto gain =
        challenger != nullptr && library ? challenger->over_library : std::optional<Ratio>();
    return {{"winner", size.best().candidate},
            {"gain", json_of(gain)},
            {"tied", tied},
            {"unknown", unknown},
            {"significant", gain ? gain->is_significant() : tied.empty() && unknown == 0},
            {"too_few_calls", gain ? !gain->is_known() : unknown > 0}};
}

Json json_of(const RankedCell& cell, const Trust& trust, const Places& places) {
    std::int64_t samples = 0;
    bool is_disturbed = false, overlaps = false;
    for (const Point* point : cell.points) {
        samples += static_cast<std::int64_t>(point->time.n);
        is_disturbed = is_disturbed || trust.is_disturbed(*point);
        overlaps = overlaps || (point->key.root && point->measured.calls_of_sample > 1);
    }
    const auto percent = cell.percent_of_limit();
    return {
        {"candidate", cell.candidate},
        {"p50_ns", cell.p50},
        {"p05_ns", cell.p05},
        {"p95_ns", cell.p95},
        {"time", json_of(cell.time)},
        {"busbw_GBps", cell.busbw},
        {"over_library", json_of(cell.over_library)},
        {"over_best", json_of(cell.over_best)},
        {"tied", cell.is_tied},
        {"unknown", cell.is_unknown},
        {"disturbed", is_disturbed},
        {"limit_ns", known(cell.limit_ns)},
        {"pct_of_limit", percent ? Json(to_tenths(*percent)) : Json()},
        {"beats_limit", cell.beats_limit()},
        {"calls_overlap", overlaps},
        {"launches", cell.points.size()},
        {"samples", samples},
        {"wire_bytes", middle_of(cell,
                                 [](const Point& point) -> std::optional<double> {
                                     if (!point.measured.network_bytes) return std::nullopt;
                                     return point.measured.network_bytes->tx_per_call;
                                 })},
        {"energy_J", middle_of(cell, [](const Point& point) { return point.measured.energy_J; })},
        {"gpu_energy_J",
         middle_of(cell, [](const Point& point) { return point.measured.gpu_energy_J; })},
        {"predicted_ns", middle_of(cell, [](const Point& point) { return point.predicted_ns; })},
        {"levels", levels_of(cell)},
        {"points", places_of(cell.points, places)}};
}

Json json_of(const RankedSize& size, const Ranking& ranking, const Trust& trust,
             const Places& places) {
    Json cells = Json::array(), order = Json::array();
    std::pair<double, double> limit{0, 0};  // the least time, and the bandwidth at that
    for (const RankedCell& cell : size.cells) {
        cells.push_back(json_of(cell, trust, places));
        if (cell.limit_ns > 0 && (limit.first == 0 || cell.limit_ns < limit.first))
            limit = {cell.limit_ns, cell.busbw * cell.p50 / cell.limit_ns};
    }
    for (const std::size_t place : size.order) order.push_back(size.cells[place].candidate);
    return {{"bytes", size.bytes.count},          {"limit_ns", known(limit.first)},
            {"limit_GBps", known(limit.second)},  {"order", order},
            {"choice", choice_at(ranking, size)}, {"cells", cells}};
}

Json skipped_in(const RankedTable& table) {
    std::map<std::pair<Configuration, std::string>, std::set<std::int64_t>> found;
    for (const Point* point : table.points)
        if (point->skipped)
            found[{table.ranking.candidate_of(point->key), *point->skipped}].insert(
                point->key.bytes.count);
    Json list = Json::array();
    for (const auto& [what, sizes] : found)
        list.push_back(
            {{"candidate", json_of(what.first)}, {"reason", what.second}, {"sizes", sizes}});
    return list;
}

Json json_of(const RankedTable& table, const Trust& trust, const Places& places) {
    const Ranking& ranking = table.ranking;
    const Key& key = table.points.front()->key;
    Json candidates = Json::array(), sizes = Json::array(), wrong = Json::array();
    for (std::size_t i = 0; i < ranking.candidates().size(); ++i) {
        Json& candidate = candidates.emplace_back(json_of(ranking.candidates()[i]));
        if (!ranking.library()) continue;
        const auto [mean, of_sizes] = ranking.mean_compared(*ranking.library(), i);
        candidate["mean_over_library"] = json_of(mean);
        candidate["sizes_of_mean"] = of_sizes;
    }
    for (const RankedSize& size : ranking.sizes())
        sizes.push_back(json_of(size, ranking, trust, places));
    for (const Ranking::Wrong& one : ranking.wrong())
        wrong.push_back({{"candidate", json_of(one.candidate)},
                         {"bytes", one.bytes.count},
                         {"elements", one.elements}});
    return {{"key", encode(key)},
            {"setup", table.setup},
            {"notes", json_of(table.notes)},
            {"candidates", candidates},
            {"library", ranking.library() ? Json(*ranking.library()) : Json()},
            {"libraries", ranking.libraries()},
            {"sizes", sizes},
            {"wrong", wrong},
            {"skipped", skipped_in(table)},
            {"points", places_of(table.points, places)}};
}

Json json_of(const RankedSteps& table, const Places& places) {
    Json methods = Json::array();
    for (const RankedMethod& method : table.methods)
        methods.push_back({{"name", method.name},
                           {"step_ns", method.step_ns},
                           {"time", json_of(method.time)},
                           {"compute_ns", method.compute_ns},
                           {"communication_ns", method.communication_ns},
                           {"exposed_ns", method.exposed_ns},
                           {"over_best", json_of(method.over_best)},
                           {"tied", method.is_tied},
                           {"unknown", method.is_unknown},
                           {"steps", places_of(method.steps, places)}});
    return {{"key", encode(table.steps.front()->key)},
            {"setup", table.setup},
            {"notes", json_of(table.notes)},
            {"methods", methods},
            {"steps", places_of(table.steps, places)}};
}

// [low, high] of a record's median in whole ns; null of too few samples.
Json interval_of(const Summary& time) {
    if (std::isinf(log_of_median(time).below)) return {};
    return Json::array(
        {std::min(time.ci95_lo, time.ci95_hi), std::max(time.ci95_lo, time.ci95_hi)});
}

/// Writes a list element by element: results may have 100,000 points.
class Document {
public:
    explicit Document(std::ostream& out) : out_(out) {}
    void field(const char* name, const Json& value) {
        out_ << (is_first_ ? "{" : ",\n") << Json(name).dump() << ":" << one_line(value);
        is_first_ = false;
    }
    void list(const char* name, const auto& records, auto json) {
        out_ << (is_first_ ? "{" : ",\n") << Json(name).dump() << ":[";
        is_first_ = false;
        const char* separator = "\n";
        for (const auto& record : records) {
            out_ << separator << one_line(json(record));
            separator = ",\n";
        }
        out_ << "]";
    }
    void end() { out_ << "}\n"; }

private:
    std::ostream& out_;
    bool is_first_ = true;
};

}  // namespace

void write_summary(std::ostream& out, const Results& results,
                   const std::map<std::string, std::string>& file_of) {
    const SummaryTables summary(results);
    Places places;
    const auto number = [&](const auto& records) {
        for (std::size_t i = 0; i < records.size(); ++i) places[records[i]] = i;
    };
    number(summary.points);
    number(summary.steps);

    Document document(out);
    document.field("v", summary_version);
    document.field("kind", "summary");
    document.field("verdict", summary.verdict);
    document.field("notes", json_of(summary.notes));
    document.field("warnings", encode(results.warnings));
    document.list("setups", summary.setups.differences(), [](const Setups::Difference& one) {
        return Json{{"fact", one.fact}, {"values", one.values}};
    });
    document.list("sessions", results.sessions, [&](const Session& session) {
        Json json = encode(session);
        const auto file = file_of.find(session.id);
        json["file"] = file == file_of.end() ? "" : file->second;
        return json;
    });
    document.list("launches", summary.launches,
                  [](const Results& launch) { return encode(launch.launches.front()); });
    document.list("ends", results.ends, [](const End& end) { return encode(end); });
    document.list("fails", results.fails, [](const Fail& fail) { return encode(fail); });
    document.list("verdicts", results.verdicts,
                  [](const VerdictRecord& verdict) { return encode(verdict); });
    document.list("floors", results.floors, [](const FloorRecord& floor) { return encode(floor); });
    document.list("points", summary.points, [&](const Point* point) {
        Json json = encode(*point);
        json.erase("samples_ns");
        json["point"] = point_id(point->key);
        if (point->skipped) return json;
        json["interval_ns"] = interval_of(point->time);
        json["disturbed"] = summary.trust.is_disturbed(*point);
        return json;
    });
    document.list("steps", summary.steps, [](const TrainingStep* step) {
        Json json = encode(*step);
        json.erase("samples_ns");
        if (!step->skipped) json["interval_ns"] = interval_of(step->step);
        return json;
    });
    document.list("tables", summary.tables,
                  [&](const RankedTable& table) { return json_of(table, summary.trust, places); });
    document.list("training", summary.training,
                  [&](const RankedSteps& table) { return json_of(table, places); });
    document.end();
}

}  // namespace tutti
