// SPDX-License-Identifier: Apache-2.0
#include "results/summary/summary_json.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <tuple>

#include "results/records/record_fields.hpp"
#include "results/stored/by_launch.hpp"
#include "results/summary/ranking.hpp"
#include "results/summary/trust.hpp"

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

Json json_of(const Configuration& candidate) {
    return {{"impl", candidate.impl},           {"algo", candidate.algorithm},
            {"transport", candidate.transport}, {"segment", candidate.segment.count},
            {"order", candidate.order},         {"radix", candidate.radix},
            {"channels", candidate.channels}};
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

// Points that are compared with each other, and their ranking.
struct Table {
    std::vector<const Point*> points;
    std::string setup;
    Ranking ranking;
    std::vector<Note> notes;

    std::vector<const RankedCell*> cells() const {
        std::vector<const RankedCell*> all;
        for (const RankedSize& size : ranking.sizes())
            for (const RankedCell& cell : size.cells) all.push_back(&cell);
        return all;
    }
};

struct TrainingTable {
    std::vector<const TrainingStep*> steps;
    std::string setup;
    std::vector<RankedMethod> methods;
    std::vector<Note> notes;
};

auto shape_of(const Key& key) {
    return std::tuple(name_of(key.coll), key.nranks, key.ppn, name_of(key.dtype), key.op, key.root,
                      key.inplace, key.buf, key.placement, key.input);
}

auto shape_of(const StepKey& key) {
    return std::tuple(key.workload, key.model, key.compute, key.settings, key.buffers, key.nranks,
                      key.ppn, key.placement);
}

// Groups by shape, in the order of `Compare` or of the first appearance.
template <class Record>
auto by_shape(const std::vector<const Record*>& records) {
    std::map<decltype(shape_of(records.front()->key)), std::vector<const Record*>> groups;
    for (const Record* record : records) groups[shape_of(record->key)].push_back(record);
    return groups;
}

std::vector<LaunchId> measured_in(const auto& records) {
    std::vector<LaunchId> launches;
    for (const auto* record : records)
        if (!record->skipped) launches.push_back(launch_of(*record));
    return launches;
}

// Groups by shape, then by setup.
template <class Record>
std::vector<std::pair<std::string, std::vector<const Record*>>> grouped(
    const std::vector<const Record*>& records, const Setups& setups) {
    std::vector<std::pair<std::string, std::vector<const Record*>>> groups;
    for (const auto& [shape, members] : by_shape(records)) {
        const auto names = setups.names_of(measured_in(members));
        std::map<std::string, std::vector<const Record*>> by_setup;
        for (const Record* record : members) {
            const auto name = names.find(launch_of(*record));
            by_setup[name != names.end() ? name->second
                     : names.empty()     ? ""
                                         : names.begin()->second]
                .push_back(record);
        }
        groups.insert(groups.end(), by_setup.begin(), by_setup.end());
    }
    return groups;
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
        {"limit_ns", cell.limit_ns},
        {"pct_of_limit", percent ? Json(*percent) : Json()},
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
    return {{"bytes", size.bytes.count},          {"limit_ns", limit.first},
            {"limit_GBps", limit.second},         {"order", order},
            {"choice", choice_at(ranking, size)}, {"cells", cells}};
}

Json skipped_in(const Table& table) {
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

Json json_of(const Table& table, const Trust& trust, const Places& places) {
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

Json json_of(const TrainingTable& table, const Places& places) {
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
    const std::vector<Results> launches = by_launch(results);
    std::vector<const Point*> points;
    std::vector<const TrainingStep*> steps;
    Places places;
    for (const Results& launch : launches) {
        for (const Point& point : launch.points) {
            places[&point] = points.size();
            points.push_back(&point);
        }
        for (const TrainingStep& step : launch.steps) {
            places[&step] = steps.size();
            steps.push_back(&step);
        }
    }
    const Trust trust{launches};
    std::vector<std::vector<LaunchId>> compared;
    for (const auto& [shape, members] : by_shape(points)) compared.push_back(measured_in(members));
    for (const auto& [shape, members] : by_shape(steps)) compared.push_back(measured_in(members));
    const Setups setups{launches, compared};
    std::vector<Table> tables;
    for (auto& [setup, members] : grouped(points, setups)) {
        Table& table = tables.emplace_back(Table{members, setup, Ranking(members), {}});
        table.notes = trust.notes(members, table.cells());
    }
    std::vector<TrainingTable> trainings;
    for (auto& [setup, members] : grouped(steps, setups))
        trainings.push_back({members, setup, ranked_methods(members), trust.notes(members)});
    std::vector<const RankedCell*> cells;
    std::vector<JudgedTable> judged;
    for (const Table& table : tables) {
        judged.push_back({table.notes, !table.ranking.sizes().empty()});
        for (const RankedCell* cell : table.cells()) cells.push_back(cell);
    }
    for (const TrainingTable& table : trainings)
        judged.push_back({table.notes, !table.methods.empty()});
    const auto notes =
        notes_of_report(results, launches, trust.notes(points, steps, cells), judged);

    Document document(out);
    document.field("v", summary_version);
    document.field("kind", "summary");
    document.field("verdict", verdict_of(notes, judged));
    document.field("notes", json_of(notes));
    document.field("warnings", encode(results.warnings));
    document.list("setups", setups.differences(), [](const Setups::Difference& one) {
        return Json{{"fact", one.fact}, {"values", one.values}};
    });
    document.list("sessions", results.sessions, [&](const Session& session) {
        Json json = encode(session);
        const auto file = file_of.find(session.id);
        json["file"] = file == file_of.end() ? "" : file->second;
        return json;
    });
    document.list("launches", launches,
                  [](const Results& launch) { return encode(launch.launches.front()); });
    document.list("ends", results.ends, [](const End& end) { return encode(end); });
    document.list("fails", results.fails, [](const Fail& fail) { return encode(fail); });
    document.list("verdicts", results.verdicts,
                  [](const VerdictRecord& verdict) { return encode(verdict); });
    document.list("floors", results.floors, [](const FloorRecord& floor) { return encode(floor); });
    document.list("points", points, [&](const Point* point) {
        Json json = encode(*point);
        json.erase("samples_ns");
        json["point"] = point_id(point->key);
        if (point->skipped) return json;
        json["interval_ns"] = interval_of(point->time);
        json["disturbed"] = trust.is_disturbed(*point);
        return json;
    });
    document.list("steps", steps, [](const TrainingStep* step) {
        Json json = encode(*step);
        json.erase("samples_ns");
        if (!step->skipped) json["interval_ns"] = interval_of(step->step);
        return json;
    });
    document.list("tables", tables,
                  [&](const Table& table) { return json_of(table, trust, places); });
    document.list("training", trainings,
                  [&](const TrainingTable& table) { return json_of(table, places); });
    document.end();
}

}  // namespace tutti
