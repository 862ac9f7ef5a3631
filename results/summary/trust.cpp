// SPDX-License-Identifier: Apache-2.0
#include "results/summary/trust.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <optional>
#include <tuple>

#include "base/units.hpp"

namespace tutti {
namespace {

constexpr double load_fades_after_s = 120;  // the load average is that of the last minute
constexpr double wide = 0.10;               // half an interval over its median
constexpr double most = 0.5, some = 0.1;    // shares of points
constexpr double waited_long_percent = 50;
constexpr double limit_changed = 1.5;  // times, between launches
constexpr std::size_t most_reasons = 3, most_named = 4;
constexpr std::string_view none_on_time = "no call began on time";  // a reason of skipped points
constexpr std::string_view stall = "cpu_stall_pct", preempted = "preemptions_per_s";

std::string share_of(std::size_t count, std::size_t all, std::string_view noun) {
    return fmt::format("{} of {}", count, counted(static_cast<std::int64_t>(all), noun));
}

std::string some_of(std::size_t count, std::size_t launches) {
    return launches == 1 ? "the launch" : fmt::format("{} of {} launches", count, launches);
}

// Points at one size in one launch that differ in the candidate alone.
std::string call_of(const Point& point) {
    return fmt::format("{} {} {} {}", point.session, point.launch, point.key.nranks,
                       call_in_words(point.key));
}

// Seconds since 1970; nothing for what is no time.
std::optional<double> seconds_of(const std::string& t) {
    std::tm utc{};
    int year = 0, month = 0, fields = 0;
    double seconds = 0;
    fields = std::sscanf(t.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf", &year, &month, &utc.tm_mday,
                         &utc.tm_hour, &utc.tm_min, &seconds);
    if (fields != 6 || year < 1970 || year > 9998) return std::nullopt;
    utc.tm_year = year - 1900;
    utc.tm_mon = month - 1;
    return static_cast<double>(timegm(&utc)) + seconds;
}

std::string range_of(std::vector<double> values) {
    std::ranges::sort(values);
    const double low = std::round(values.front()), high = std::round(values.back());
    return low < high ? fmt::format("{:.0f} to {:.0f}", low, high) : fmt::format("{:.0f}", low);
}

// One kind of trouble of one host in several launches.
struct Trouble {
    std::map<LaunchId, HealthReading> by_launch;
};

std::string describe(std::string_view reading, const Trouble& trouble) {
    std::vector<double> values;
    std::set<std::string> parts;
    for (const auto& [launch, one] : trouble.by_launch) {
        values.push_back(one.value);
        parts.insert(one.of.empty() ? "a rank" : one.of);
    }
    if (reading == stall)
        return fmt::format("programs waited for a core {} % of the time", range_of(values));
    if (reading == preempted)
        return fmt::format("other programs took {}'s core {} times a second",
                           parts.size() == 1 ? *parts.begin() : "a rank", range_of(values));
    return trouble.by_launch.rbegin()->second.wrong;
}

void add_wide(std::span<const RankedCell* const> cells, std::vector<Note>& notes) {
    const auto found =
        static_cast<std::size_t>(std::ranges::count_if(cells, [](const RankedCell* cell) {
            const Ratio& time = *cell->time;
            return time.is_known() && (time.high - time.low) / 2 > wide * time.value;
        }));
    if (found == 0) return;
    const std::string text =
        share_of(found, cells.size(), "median") + " with an interval wider than +-10 %";
    notes.push_back({"wide intervals", text,
                     static_cast<double>(found) > most * static_cast<double>(cells.size())
                         ? Reliable::ranking
                         : Reliable::all,
                     text});
}

template <class Record>
void add_few(std::span<const Record* const> measured, const char* noun, auto time_of,
             std::vector<Note>& notes) {
    std::size_t few = 0;
    for (const Record* one : measured) few += std::isinf(log_of_median(time_of(*one)).below);
    if (few == 0) return;
    const std::string medians = share_of(few, measured.size(), "median");
    notes.push_back(
        {fmt::format("too few {}", noun),
         fmt::format("{} with fewer than six {}, so without a 95 % interval (?); use a longer "
                     "--max-time or more launches",
                     medians, noun),
         static_cast<double>(few) > most * static_cast<double>(measured.size()) ? Reliable::ranking
                                                                                : Reliable::all,
         fmt::format("too few {} for {}", noun, medians)});
}

void add_limits(std::span<const RankedCell* const> cells, std::vector<Note>& notes) {
    std::size_t beaten = 0;
    double largest = 0;
    std::map<Bytes, double> changes;
    for (const RankedCell* cell : cells) {
        if (cell->beats_limit()) {
            ++beaten;
            largest = std::max(largest, *cell->percent_of_limit());
        }
        const double change = cell->limit_change();
        const Bytes bytes = cell->points.front()->key.bytes;
        if (change > limit_changed) changes[bytes] = std::max(changes[bytes], change);
    }
    if (beaten > 0)
        notes.push_back(
            {"lower bound invalid",
             fmt::format(
                 "{} below the lower bound (up to {:.0f} % of the limit), which was measured "
                 "on a busy machine; run tutti limits again",
                 share_of(beaten, cells.size(), "median"), largest),
             Reliable::ranking,
             fmt::format("{} below the lower bound",
                         counted(static_cast<std::int64_t>(beaten), "median"))});
    if (changes.empty()) return;
    double most_change = 0;
    for (const auto& [bytes, change] : changes) most_change = std::max(most_change, change);
    const std::string last = to_string(changes.rbegin()->first);
    notes.push_back(
        {"lower bound varies",
         fmt::format("it differs up to {:.2f}-fold between launches ({}{}); % of limit uses the "
                     "least",
                     most_change, to_string(changes.begin()->first),
                     changes.size() > 1 ? " to " + last : "")});
}

void add_skipped(std::span<const std::string* const> reasons, std::size_t all,
                 std::vector<Note>& notes) {
    if (reasons.empty()) return;
    std::vector<std::pair<std::string, int>> counts;
    for (const std::string* reason : reasons) {
        auto known = std::ranges::find(counts, *reason, &std::pair<std::string, int>::first);
        if (known == counts.end()) known = counts.insert(known, {*reason, 0});
        ++known->second;
    }
    std::ranges::stable_sort(counts, std::greater{}, &std::pair<std::string, int>::second);
    std::vector<std::string> texts;
    for (const auto& [reason, count] :
         std::span(counts).first(std::min(counts.size(), most_reasons)))
        texts.push_back(fmt::format("{} ({})", reason, count));
    std::string text =
        fmt::format("{}: {}", share_of(reasons.size(), all, "point"), fmt::join(texts, "; "));
    if (counts.size() > most_reasons)
        text += fmt::format(" and {} more reasons", counts.size() - most_reasons);
    notes.push_back({"skipped", std::move(text)});
}

}  // namespace

Trust::Trust(std::span<const Results> launches) {
    for (const Results& one : launches) {
        launches_[one.points.empty() ? launch_of(one.steps.front())
                                     : launch_of(one.points.front())] = &one;
        for (const Point& point : one.points)
            if (point.skipped && point.skipped->starts_with(none_on_time))
                late_.insert(call_of(point));
    }
}

bool Trust::is_disturbed(const Point& point) const {
    if (point.skipped) return false;
    const auto n = static_cast<std::int64_t>(point.time.n);
    const bool missed_deadlines =
        point.measured.start == Start::barrier || point.measured.n_invalid > n ||
        (std::isinf(log_of_median(point.time).below) && late_.contains(call_of(point)));
    return missed_deadlines && starts_at_deadlines(launch_of(point), point.key.nranks);
}

// The clocks of several hosts may forbid deadlines.
bool Trust::starts_at_deadlines(const LaunchId& id, int ranks) const {
    const Results& one = *launches_.at(id);
    const Launch& launch = one.launches.front();
    const TextByName& plan = one.sessions.front().plan;
    const auto sync = plan.find("sync");
    const bool is_auto = sync == plan.end() || sync->second.empty() || sync->second == "auto";
    const double cores = available_cores(launch);
    return launch.hosts.size() == 1 && is_auto && !(cores > 0 && cores < ranks);
}

void Trust::add_simulated(const Launches& launches, std::vector<Note>& notes) const {
    const auto is_simulated = [](const Gpu& gpu) {
        return gpu.model.find("imulated") != std::string::npos;
    };
    for (const LaunchId& launch : launches)
        if (std::ranges::any_of(launches_.at(launch)->launches.front().gpus, is_simulated)) {
            notes.push_back({"simulated GPU",
                             "threads of the CPU simulate the GPUs: the times mean nothing",
                             Reliable::nothing, "GPUs are simulated"});
            return;
        }
}

void Trust::add_oversubscribed(const Launches& launches, std::vector<Note>& notes) const {
    std::set<std::pair<int, double>> found;
    for (const LaunchId& id : launches)
        if (const Launch& launch = launches_.at(id)->launches.front(); is_oversubscribed(launch))
            found.emplace(launch.nranks, available_cores(launch));
    if (found.empty()) return;
    std::vector<std::string> texts;
    for (const auto& [ranks, cores] : found)
        texts.push_back(fmt::format("{} ranks share {}", ranks,
                                    counted(static_cast<std::int64_t>(cores), "core")));
    const std::string all = fmt::format("{}", fmt::join(texts, ", "));
    notes.push_back({"oversubscribed",
                     all + ", so times depend on the scheduler as much as on the algorithm",
                     Reliable::nothing, all});
}

// Launches that follow each other see each other's load.
double Trust::own_load(const LaunchId& id) const {
    const auto began = seconds_of(launches_.at(id)->launches.front().t);
    double load = 0;
    for (const auto& [other, results] : launches_) {
        const auto other_began = seconds_of(results->launches.front().t);
        if (other == id || !began || !other_began || results->ends.empty()) continue;
        const std::int64_t wall_ns = results->ends.back().wall_ns;
        if (wall_ns <= 0) continue;
        const double since = *began - *other_began - static_cast<double>(wall_ns) * 1e-9;
        if (since > 0 && since < load_fades_after_s)
            load = std::max<double>(load, results->launches.front().nranks);
    }
    return load;
}

void Trust::add_load(const Launches& launches, std::vector<Note>& notes) const {
    std::set<LaunchId> busy;
    double worst = 0, load = 0;
    int cores = 0;
    for (const LaunchId& id : launches)
        for (const HostRecord& host : launches_.at(id)->launches.front().hosts) {
            if (host.cores <= 0 || host.loadavg1 <= 0) continue;
            if (host.loadavg1 - own_load(id) <= busy_share * host.cores) continue;
            busy.insert(id);
            if (host.loadavg1 / host.cores <= worst) continue;
            worst = host.loadavg1 / host.cores;
            load = host.loadavg1;
            cores = host.cores;
        }
    if (busy.empty()) return;
    const std::string text = fmt::format("up to {:.1f} on {}", load, counted(cores, "core"));
    notes.push_back(
        {"load before start",
         fmt::format("{} when {} began{}", text, some_of(busy.size(), launches.size()),
                     launches.size() > 1 ? ", more than earlier launches of tutti explain" : ""),
         Reliable::ranking, "load before the start " + text});
}

void Trust::add_health(const Launches& launches, std::vector<Note>& notes) const {
    std::map<std::pair<std::string, std::string>, Trouble> troubles;  // by host and reading
    for (const LaunchId& id : launches) {
        const auto look_at = [&](const std::vector<HostHealth>& health) {
            for (const HostHealth& host : health)
                for (const HealthReading& reading : host.readings)
                    if (!reading.wrong.empty())
                        troubles[{host.host, reading.name}].by_launch[id] = reading;
        };
        look_at(launches_.at(id)->launches.front().health);
        for (const End& end : launches_.at(id)->ends) look_at(end.health);
    }
    if (troubles.empty()) return;
    std::vector<std::string> texts;
    std::string worst;
    double waited = 0;
    std::set<LaunchId> waiting;
    for (const auto& [place, trouble] : troubles) {
        std::string text = describe(place.second, trouble);
        if (launches.size() > 1)
            text += " in " + some_of(trouble.by_launch.size(), launches.size());
        for (const auto& [id, reading] : trouble.by_launch) {
            if (place.second != stall) break;
            waiting.insert(id);
            if (reading.value <= waited) continue;
            waited = reading.value;
            worst = text;
        }
        texts.push_back(place.first + ": " + text);
    }
    const bool waited_long = waited >= waited_long_percent;
    if (!waited_long) worst = texts.front();
    std::vector<std::string> quiet;  // launches as numbered in the order of the files
    for (std::size_t i = 0; i < launches.size(); ++i)
        if (!waiting.contains(launches[i])) quiet.push_back(std::to_string(i + 1));
    if (waited_long && !quiet.empty())
        texts.push_back(quiet.size() > most_named
                            ? fmt::format("the other {} launches hardly waited", quiet.size())
                            : fmt::format("{} {} hardly waited",
                                          quiet.size() == 1 ? "launch" : "launches",
                                          fmt::join(quiet, ", ")));
    notes.push_back({"host problem", fmt::format("{}", fmt::join(texts, "; ")),
                     waited_long ? Reliable::nothing : Reliable::ranking, worst});
}

std::vector<Note> Trust::notes(std::span<const Point* const> points,
                               std::span<const RankedCell* const> cells) const {
    return notes(points, {}, cells);
}

std::vector<Note> Trust::notes(std::span<const Point* const> points,
                               std::span<const TrainingStep* const> steps,
                               std::span<const RankedCell* const> cells) const {
    Launches launches;
    std::set<LaunchId> seen;
    std::vector<const Point*> measured;
    std::vector<const TrainingStep*> measured_steps;
    std::vector<const std::string*> skipped;
    const auto sort_out = [&](const auto& records, auto& into) {
        for (const auto* record : records) {
            if (record->skipped) {
                skipped.push_back(&*record->skipped);
                continue;
            }
            into.push_back(record);
            if (seen.insert(launch_of(*record)).second) launches.push_back(launch_of(*record));
        }
    };
    sort_out(points, measured);
    sort_out(steps, measured_steps);

    std::vector<Note> notes;
    add_simulated(launches, notes);
    const auto shares_gpu = [](const auto* record) { return is_virtual(record->key); };
    if (std::ranges::any_of(measured, shares_gpu) ||
        std::ranges::any_of(measured_steps, shares_gpu))
        notes.push_back({std::string(virtual_ranks),
                         "several ranks share one GPU: times do not show links between GPUs",
                         Reliable::nothing, "several ranks share one GPU"});
    add_oversubscribed(launches, notes);
    add_health(launches, notes);
    const auto disturbed =
        std::ranges::count_if(measured, [&](const Point* point) { return is_disturbed(*point); });
    if (disturbed > 0) {
        const double share = static_cast<double>(disturbed) /
                             static_cast<double>(measured.size() + measured_steps.size());
        const std::string text =
            fmt::format("other programs used the cores in {}",
                        share_of(static_cast<std::size_t>(disturbed),
                                 measured.size() + measured_steps.size(), "point"));
        notes.push_back({"disturbed", text + " (†)",
                         share > most   ? Reliable::nothing
                         : share > some ? Reliable::ranking
                                        : Reliable::all,
                         text});
    }
    add_wide(cells, notes);
    add_few(
        std::span<const Point* const>(measured), "calls",
        [](const Point& point) { return point.time; }, notes);
    add_few(
        std::span<const TrainingStep* const>(measured_steps), "steps",
        [](const TrainingStep& step) { return step.step; }, notes);
    add_limits(cells, notes);
    add_load(launches, notes);
    if (launches.size() == 1)
        notes.push_back({one_launch_mark,
                         "intervals cover the calls of this launch only; launches differ by more "
                         "(use --launches 6)",
                         Reliable::ranking, "one launch"});
    const auto interrupted = std::ranges::count_if(
        launches, [&](const LaunchId& id) { return launches_.at(id)->ends.empty(); });
    if (interrupted > 0)
        notes.push_back({"interrupted", fmt::format("{} of {} did not run to the end", interrupted,
                                                    counted(std::ssize(launches), "launch"))});
    add_skipped(skipped, points.size() + steps.size(), notes);
    std::ranges::stable_sort(notes, std::greater{}, &Note::leaves);
    return notes;
}

}  // namespace tutti
