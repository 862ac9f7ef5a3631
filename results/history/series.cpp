// SPDX-License-Identifier: Apache-2.0
#include "results/history/series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/hashes.hpp"
#include "base/source.hpp"
#include "results/records/metric.hpp"
#include "results/records/record_fields.hpp"
#include "results/statistics/statistics.hpp"
#include "results/stored/by_launch.hpp"
#include "results/stored/fingerprint.hpp"

namespace tutti {
namespace {

// A time of the metric, with what is known of it. Only one of point and step is there, none for a
// pair of a comparison.
struct Seen {
    std::string metric;
    double ns = 0;
    std::string unit = "ns";  // programs print other numbers than times
    const Point* point = nullptr;
    const TrainingStep* step = nullptr;
    std::pair<std::string, int> place;  // session and launch
    const Launch* launch = nullptr;
    const Session* session = nullptr;
};

// Returns the times of right results. Pairs that a comparison only read from results files are left
// out.
std::vector<Seen> seen_in(const Results& results, const std::vector<Results>& launches) {
    std::vector<Seen> all;
    const auto add = [&](Seen seen, bool is_wrong) {
        if (seen.ns > 0 && !is_wrong) all.push_back(std::move(seen));
    };
    for (const Results& launch : launches) {
        const Launch& record = launch.launches.front();
        const Seen of_launch{.place = {record.session, record.launch},
                             .launch = &record,
                             .session = &launch.sessions.front()};
        const auto add_record = [&](const auto& one, double ns, bool is_wrong, Seen seen) {
            seen.metric = metric_of(one.key);
            seen.ns = one.skipped ? 0 : ns;
            seen.place.second = one.launch;
            add(std::move(seen), is_wrong);
        };
        for (const Point& point : launch.points) {
            Seen seen = of_launch;
            seen.point = &point;
            add_record(point, static_cast<double>(point.time.p50), is_wrong(point), seen);
        }
        for (const TrainingStep& step : launch.steps) {
            Seen seen = of_launch;
            seen.step = &step;
            add_record(step, static_cast<double>(step.step.p50),
                       step.check.state == CheckState::fail, seen);
        }
    }
    std::set<std::string> stored;
    std::map<std::string, int> ranks;  // names of older versions lack them
    for (const VerdictRecord& verdict : results.verdicts) {
        if (verdict.method == Pairing::stored) stored.insert(verdict.session);
        ranks[verdict.session] = std::max(ranks[verdict.session], verdict.nranks);
    }
    std::map<std::string, const Session*> sessions;
    for (const Session& session : results.sessions) sessions[session.id] = &session;
    std::map<std::string, const Launch*> first_launches;  // a comparison records only this
    for (const Launch& launch : results.launches)
        if (launch.launch == 1) first_launches[launch.session] = &launch;
    for (const Pair& pair : results.pairs) {
        const auto find = [&](const auto& records) {
            const auto found = records.find(pair.session);
            return found == records.end() ? nullptr : found->second;
        };
        add({.metric = with_ranks(pair.metric, ranks[pair.session]),
             .ns = pair.seen.b_ns,
             .unit = pair.seen.unit,
             .place = {pair.session, 1},
             .launch = find(first_launches),
             .session = find(sessions)},
            stored.contains(pair.session));
    }
    return all;
}

std::set<std::string> words_in_lower_case(const std::string& text) {
    const std::string lower = in_lower_case(text);
    std::set<std::string> words;
    for (std::string_view word : words_of(lower)) {
        if (word.ends_with(',')) word.remove_suffix(1);
        words.emplace(word);
    }
    return words;
}

std::string out_of_place(std::string name) {
    constexpr std::string_view in_place = " in place";
    if (const auto place = name.find(in_place); place != name.npos)
        name.erase(place, in_place.size());
    return name;
}

[[noreturn]] void fail_unknown(const std::set<std::string>& names, const std::string& asked) {
    if (names.empty())
        throw Error(fmt::format("no metric is called '{}', as no times were measured", asked));
    const auto wanted = words_in_lower_case(asked);
    std::vector<std::string> nearest(names.begin(), names.end());
    std::ranges::stable_sort(nearest, std::greater{}, [&](const std::string& name) {
        const auto words = words_in_lower_case(name);
        return std::ranges::count_if(wanted,
                                     [&](const auto& word) { return words.contains(word); });
    });
    nearest.resize(std::min<std::size_t>(nearest.size(), 3));
    throw Error(fmt::format("no metric is called '{}'; there are {}, the nearest: {}", asked,
                            names.size(), fmt::join(nearest, "; ")));
}

// Returns the metrics of one name, which differ in the place at most.
std::set<std::string> metrics_called(const std::set<std::string>& names, const std::string& asked) {
    const auto in_all_places = [&](const std::string& metric) {
        std::set<std::string> all;
        for (const std::string& name : names)
            if (without_place(name) == metric) all.insert(name);
        return all;
    };
    if (names.contains(asked) && without_place(asked) != asked) return {asked};
    if (auto all = in_all_places(asked); !all.empty()) return all;
    const auto wanted = words_in_lower_case(asked);
    const auto names_with = [&](auto has) {
        std::vector<std::string> found;
        for (const std::string& name : names)
            if (std::ranges::all_of(wanted, [&](const auto& word) { return has(name, word); }))
                found.push_back(name);
        return found;
    };
    auto found = names_with([](const std::string& name, const std::string& word) {
        return words_in_lower_case(name).contains(word);
    });
    if (found.empty())
        found = names_with([](const std::string& name, const std::string& word) {
            return in_lower_case(name).find(word) != name.npos;
        });
    if (found.empty()) fail_unknown(names, asked);
    std::set<std::string> calls, metrics;
    for (const std::string& name : found) {
        metrics.insert(without_place(name));
        calls.insert(out_of_place(without_place(name)));
    }
    if (calls.size() == 1) {
        const std::string metric = *std::ranges::min_element(metrics, {}, &std::string::size);
        std::erase_if(found, [&](const auto& name) { return without_place(name) != metric; });
        return {found.begin(), found.end()};
    }
    const auto shown = std::span(found).first(std::min<std::size_t>(found.size(), 4));
    throw Error(fmt::format("'{}' matches {} metrics; use more of one name: {}{}", asked,
                            found.size(), fmt::join(shown, "; "),
                            found.size() > shown.size() ? "; ..." : ""));
}

// Everything that decides performance, except the machine and the versions of programs.
Json settings_of(const Seen& seen) {
    Json settings{{"kind", seen.point != nullptr  ? "point"
                           : seen.step != nullptr ? "step"
                                                  : "pair"}};
    Json key = Json::object();
    settings["id"] = nullptr;
    if (seen.point != nullptr) {
        key = encode(seen.point->key);
        settings["id"] = point_id(seen.point->key);
    } else if (seen.step != nullptr) {
        key = encode(seen.step->key);
        settings["id"] = sha256(one_line(key)).substr(0, 16);
    }
    settings["MPI library"] = nullptr;
    if (seen.launch != nullptr && seen.launch->mpi && !seen.launch->mpi->vendor.empty())
        settings["MPI library"] = seen.launch->mpi->vendor;
    if (seen.point != nullptr) {
        settings["mode"] = name_of(seen.point->measured.start);
        settings["def"] = name_of(seen.point->measured.from);
    }
    if (seen.unit != "ns") settings["unit"] = seen.unit;
    if (seen.point == nullptr && seen.step == nullptr) {  // keys have the place
        const std::string name = without_place(seen.metric);
        const auto place = std::ranges::mismatch(seen.metric, name).in1;
        if (place != seen.metric.end()) settings["place"] = std::string(place, seen.metric.end());
    }
    std::map<std::string, Json> sorted;
    for (const auto& [name, value] : key.items()) sorted["key." + name] = value;
    for (const auto& [name, value] : sorted) settings[name] = value;
    if (seen.launch != nullptr)
        for (const auto& [name, value] : variables_of(*seen.launch)) settings[name] = value;
    return settings;
}

// "AMD EPYC 7B13, 4 ranks, started by deadline, Open MPI"
std::string in_words(const Seen& seen) {
    std::vector<std::string> words;
    const Launch launch = seen.launch != nullptr ? *seen.launch : Launch{.nranks = 0};
    if (!launch.hosts.empty()) words.push_back(launch.hosts.front().cpu_model);
    std::set<std::string> gpus;
    for (const Gpu& gpu : launch.gpus) gpus.insert(gpu.model);
    words.insert(words.end(), gpus.begin(), gpus.end());
    const int nranks = seen.point != nullptr  ? seen.point->key.nranks
                       : seen.step != nullptr ? seen.step->key.nranks
                                              : 0;  // a comparison records one process
    if (nranks > 0) words.push_back(fmt::format("{} ranks", nranks));
    if (launch.hosts.size() > 1) words.push_back(fmt::format("{} hosts", launch.hosts.size()));
    if (seen.point != nullptr)
        words.push_back(fmt::format("started by {}", name_of(seen.point->measured.start)));
    if (launch.mpi) words.push_back(launch.mpi->vendor);
    if (seen.point == nullptr && seen.step == nullptr) words.emplace_back("B of tutti compare");
    std::erase(words, "");
    return fmt::format("{}", fmt::join(words, ", "));
}

TextByName facts_of(const Seen& seen) {
    static const Launch unknown;
    const Launch& launch = seen.launch != nullptr ? *seen.launch : unknown;
    TextByName facts;
    const auto version_of = [](const std::optional<Library>& library) {
        return library ? library->version : "";
    };
    if (seen.session != nullptr) {
        facts["build type"] = seen.session->tool.build_type;
        facts["compiler"] = seen.session->tool.compiler;
    }
    facts["MPI"] = version_of(launch.mpi);
    facts["UCX"] = version_of(launch.ucx);
    facts["NCCL"] = version_of(launch.nccl);
    if (launch.cuda) facts["CUDA"] = launch.cuda->driver;
    if (!launch.hosts.empty()) {
        facts["kernel"] = launch.hosts.front().kernel;
        facts["host"] = launch.hosts.front().name;
    }
    std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
    return facts;
}

SeriesLaunch launch_of(const Seen& seen) {
    SeriesLaunch launch{.facts = facts_of(seen)};
    if (seen.launch != nullptr) launch.t = seen.launch->t;
    if (seen.session == nullptr) return launch;
    if (launch.t.empty()) launch.t = seen.session->t;
    const Tool& tool = seen.session->tool;
    if (seen.point != nullptr || seen.step != nullptr)
        launch.commit = tool.git + (tool.dirty ? "+changes" : "");
    return launch;
}

// Returns the facts of which only one launch knows, or for which both have other values.
std::vector<SeriesChange::Fact> changed_facts(const SeriesLaunch& before,
                                              const SeriesLaunch& after) {
    std::vector<SeriesChange::Fact> changed;
    if (before.commit != after.commit) changed.push_back({"commit", before.commit, after.commit});
    std::set<std::string> names;
    for (const SeriesLaunch* launch : {&before, &after})
        for (const auto& [name, value] : launch->facts) names.insert(name);
    for (const std::string& name : names) {
        const auto value_in = [&](const SeriesLaunch& launch) {
            const auto found = launch.facts.find(name);
            return found == launch.facts.end() ? "-" : found->second;
        };
        if (value_in(before) != value_in(after))
            changed.push_back({name, value_in(before), value_in(after)});
    }
    return changed;
}

double median_ns(const Series& series, std::size_t begin, std::size_t end) {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i) values.push_back(series.launches[i].ns);
    return median(std::move(values));
}

}  // namespace

std::vector<Series> series_of(const Results& results, const std::string& asked) {
    const std::vector<Results> launches = by_launch(results);
    const std::vector<Seen> all = seen_in(results, launches);
    std::set<std::string> names;
    for (const Seen& seen : all) names.insert(seen.metric);
    const std::set<std::string> metrics = metrics_called(names, asked);

    using Place = std::pair<std::string, int>;
    std::map<std::string, Series> by_fingerprint;
    std::map<std::string, std::map<Place, std::pair<SeriesLaunch, std::vector<double>>>> values;
    for (const Seen& seen : all) {
        if (!metrics.contains(seen.metric)) continue;
        Json settings = settings_of(seen);
        const std::string fingerprint =
            machine_of(seen.launch != nullptr ? *seen.launch : Launch{}) + "-" + hash_of(settings);
        if (!by_fingerprint.contains(fingerprint))
            by_fingerprint[fingerprint] = {seen.metric,         fingerprint, in_words(seen),
                                           std::move(settings), seen.unit,   {}};
        auto& [launch, times] = values[fingerprint][seen.place];
        if (times.empty()) launch = launch_of(seen);
        times.push_back(seen.ns);
    }
    std::vector<Series> found;
    for (auto& [fingerprint, series] : by_fingerprint) {
        for (auto& [place, launch] : values[fingerprint]) {
            launch.first.ns = median(std::move(launch.second));
            series.launches.push_back(std::move(launch.first));
        }
        std::ranges::stable_sort(series.launches, {}, &SeriesLaunch::t);
        found.push_back(std::move(series));
    }
    std::ranges::stable_sort(found, std::greater{},
                             [](const Series& one) { return one.launches.back().t; });
    return found;
}

std::vector<std::string> differences(const Series& one, const Series& other) {
    const auto machine = [](const Series& series) {
        return series.fingerprint.substr(0, series.fingerprint.find('-'));
    };
    std::vector<std::string> different;
    if (machine(one) != machine(other)) different.emplace_back("machine");
    std::set<std::string> names;
    for (const Series* series : {&one, &other})
        for (const auto& [name, value] : series->settings.items()) names.insert(name);
    for (const std::string& name : names)
        if (one.settings.value(name, Json()) != other.settings.value(name, Json()))
            different.push_back(name);
    return different;
}

std::vector<SeriesChange> changes_of(const Series& series, const ChangeTest& test) {
    std::vector<double> logarithms;
    for (const SeriesLaunch& launch : series.launches) logarithms.push_back(std::log(launch.ns));
    const std::vector<ChangePoint> points = change_points(logarithms, test);
    std::vector<SeriesChange> changes;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t first = points[i].first;
        const std::size_t begin = i == 0 ? 0 : points[i - 1].first;
        const std::size_t end = i + 1 < points.size() ? points[i + 1].first : logarithms.size();
        changes.push_back({points[i], median_ns(series, begin, first),
                           median_ns(series, first, end),
                           changed_facts(series.launches[first - 1], series.launches[first])});
    }
    return changes;
}

Json to_json(const Series& series, std::span<const SeriesChange> changes, const ChangeTest& test,
             std::span<const Series> all) {
    Json launches = Json::array(), points = Json::array(), others = Json::array();
    const std::size_t end = changes.empty() ? series.launches.size() : changes[0].point.first;
    Json levels = Json::array({{{"first", 0}, {"ns", median_ns(series, 0, end)}}});
    for (const SeriesLaunch& launch : series.launches)
        launches.push_back({{"t", launch.t},
                            {"commit", launch.commit},
                            {"ns", launch.ns},
                            {"facts", launch.facts}});
    for (const SeriesChange& change : changes) {
        Json facts = Json::array();
        for (const auto& [name, before, after] : change.facts)
            facts.push_back({{"fact", name}, {"before", before}, {"after", after}});
        levels.push_back({{"first", change.point.first}, {"ns", change.after_ns}});
        points.push_back({{"first", change.point.first},
                          {"p", change.point.p},
                          {"before_ns", change.before_ns},
                          {"after_ns", change.after_ns},
                          {"facts", facts}});
    }
    for (const Series& other : all)
        if (other.fingerprint != series.fingerprint)
            others.push_back({{"fingerprint", other.fingerprint},
                              {"words", other.words},
                              {"launches", other.launches.size()},
                              {"t", other.launches.back().t},
                              {"differs", differences(series, other)}});
    return {{"v", 1},
            {"kind", "history"},
            {"metric", series.metric},
            {"fingerprint", series.fingerprint},
            {"words", series.words},
            {"settings", series.settings},
            {"unit", series.unit},
            {"level", test.level},
            {"permutations", test.permutations},
            {"seed", test.seed},
            {"launches", launches},
            {"levels", levels},
            {"changes", points},
            {"others", others}};
}

}  // namespace tutti
