// SPDX-License-Identifier: Apache-2.0
#include "results/summary/summary_tables.hpp"

#include <map>
#include <tuple>

#include "results/stored/by_launch.hpp"

namespace tutti {
namespace {

auto shape_of(const Key& key) {
    return std::tuple(name_of(key.coll), key.nranks, key.ppn, name_of(key.dtype), key.op, key.root,
                      key.inplace, key.buf, key.placement, key.input, key.blocks, key.aggressor);
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

// Lists the launches that are compared with each other.
std::vector<std::vector<LaunchId>> compared_in(const std::vector<const Point*>& points,
                                               const std::vector<const TrainingStep*>& steps) {
    std::vector<std::vector<LaunchId>> compared;
    for (const auto& [shape, members] : by_shape(points)) compared.push_back(measured_in(members));
    for (const auto& [shape, members] : by_shape(steps)) compared.push_back(measured_in(members));
    return compared;
}

template <class Record>
std::vector<const Record*> all_in(const std::vector<Results>& launches,
                                  std::vector<Record> Results::*list) {
    std::vector<const Record*> all;
    for (const Results& launch : launches)
        for (const Record& record : launch.*list) all.push_back(&record);
    return all;
}

}  // namespace

std::vector<const RankedCell*> RankedTable::cells() const {
    std::vector<const RankedCell*> all;
    for (const RankedSize& size : ranking.sizes())
        for (const RankedCell& cell : size.cells) all.push_back(&cell);
    return all;
}

SummaryTables::SummaryTables(const Results& results)
    : launches(by_launch(results)),
      points(all_in(launches, &Results::points)),
      steps(all_in(launches, &Results::steps)),
      trust(launches),
      setups(launches, compared_in(points, steps)) {
    for (auto& [setup, members] : grouped(points, setups)) {
        RankedTable& table = tables.emplace_back(RankedTable{members, setup, Ranking(members)});
        table.notes = trust.notes(members, table.cells());
    }
    for (auto& [setup, members] : grouped(steps, setups))
        training.push_back({members, setup, ranked_methods(members), trust.notes(members)});
    std::vector<const RankedCell*> cells;
    std::vector<JudgedTable> judged;
    for (const RankedTable& table : tables) {
        judged.push_back({table.notes, !table.ranking.sizes().empty()});
        for (const RankedCell* cell : table.cells()) cells.push_back(cell);
    }
    for (const RankedSteps& table : training)
        judged.push_back({table.notes, !table.methods.empty()});
    notes = notes_of_report(results, launches, trust.notes(points, steps, cells), judged);
    verdict = verdict_of(notes, judged);
}

}  // namespace tutti
