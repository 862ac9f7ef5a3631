// SPDX-License-Identifier: Apache-2.0
#include "results/guidelines/guidelines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/collective_form.hpp"
#include "results/statistics/signed_rank.hpp"
#include "results/stored/by_launch.hpp"
#include "results/stored/fingerprint.hpp"

namespace tutti {
namespace {

using enum Collective;

bool chooses(const Key& key) {
    return key.configuration.algorithm == "auto" || key.configuration.algorithm == "learn";
}

// An algorithm that a library was forced to use is not its choice.
bool is_of(const std::string& candidate, const Key& key) {
    const Configuration& one = key.configuration;
    if (!one.is_ours())
        return one.impl == candidate && (one.algorithm.empty() || one.algorithm == one.impl);
    if (candidate == "best") return !chooses(key);
    return candidate == one.algorithm || candidate == candidate_in_words(key);
}

GuidelineCall sibling(const GuidelineCall& call, Collective coll, std::optional<Rank> root) {
    return {call.setting, coll, reduces(coll) ? call.op : std::nullopt,
            has_root(coll) ? root : std::nullopt};
}

// The facts of a launch that a setting has.
GuidelineSetting setting_of(const Launch& launch) {
    GuidelineSetting setting{.machine = machine_of(launch)};
    std::vector<std::string> libraries;
    for (const auto& [library, name] : {std::pair{&launch.mpi, "MPI"}, {&launch.nccl, "NCCL"}})
        if (*library && !(*library)->version.empty())
            libraries.push_back(((*library)->vendor.empty() ? name : (*library)->vendor) + " " +
                                (*library)->version);
    setting.libraries = fmt::format("{}", fmt::join(libraries, ", "));
    setting.environment = hash_of(Json(variables_of(launch)));
    return setting;
}

void require_possible(const Point& point) {
    constexpr std::int64_t most_ns = 1'000'000'000'000'000'000;
    const Summary& time = point.time;
    for (const std::int64_t ns : {time.p50, time.ci95_lo, time.ci95_hi})
        if (ns < 0 || ns >= most_ns) throw Error("a point has an invalid time");
    if (point.key.bytes.count < 0 || point.key.nranks < 1)
        throw Error("a point has an impossible size or number of ranks");
}

LogEstimate mean_of(const EstimatesByLaunch& launches) {
    std::vector<LogEstimate> all;
    for (const auto& [launch, estimate] : launches) all.push_back(estimate);
    return mean_over_launches(all);
}

bool are_of_same_launches(const EstimatesByLaunch& one, const EstimatesByLaunch& other) {
    return std::ranges::equal(
        one, other, {}, [](const auto& item) { return item.first; },
        [](const auto& item) { return item.first; });
}

using Parts = std::vector<std::pair<double, const EstimatesByLaunch*>>;

// `takes` are the times of the call, `parts` those of the others and how often each is called.
GuidelineCheck check_of(const std::string& candidate, std::string_view guideline, std::string words,
                        const GuidelineCall& call, std::int64_t size,
                        const EstimatesByLaunch& takes, const Parts& parts) {
    GuidelineCheck check{.candidate = candidate,
                         .guideline = std::string(guideline),
                         .words = std::move(words),
                         .call = call,
                         .size = size,
                         .takes_ns = mean_of(takes).value(),
                         .launches = takes.size()};
    const auto total_of = [&](auto&& estimate) {
        std::vector<std::pair<double, LogEstimate>> all;
        for (const auto& [times, launches] : parts) all.emplace_back(times, estimate(*launches));
        return total(all);
    };
    bool are_same = true;
    for (const auto& [times, launches] : parts) {
        check.launches = std::min(check.launches, launches->size());
        are_same = are_same && are_of_same_launches(takes, *launches);
    }
    const LogEstimate would_take = total_of(mean_of);
    check.would_take_ns = would_take.value();
    check.is_comparable = are_same || check.launches > 1;
    if (!are_same) {
        check.ratio = ratio(mean_of(takes), would_take);
        return check;
    }
    std::vector<LogEstimate> ratios;  // effects common to all calls of a launch cancel
    for (const auto& [launch, estimate] : takes)
        ratios.push_back(ratio(estimate, total_of([&](const EstimatesByLaunch& launches) {
                                   return launches.at(launch);
                               })));
    check.ratio = mean_over_launches(ratios);
    return check;
}

// In a row of calls, those with a root overlap with the next call, which they could not if it
// needed their result.
bool adds_up_too_little(const Guideline& guideline, const GuidelineCall& call) {
    return call.setting.is_in_rows() && guideline.right.size() > 1 &&
           std::ranges::any_of(guideline.right, has_root);
}

// Returns the root of the call; if it has none, every root that all others were measured with.
std::set<std::optional<Rank>> roots_for(const Guideline& guideline, const GuidelineCall& call,
                                        const GuidelineTimes& times) {
    if (call.root || std::ranges::none_of(guideline.right, has_root)) return {call.root};
    std::set<std::optional<Rank>> roots;
    for (const auto& [other, sizes] : times) roots.insert(other.root);
    std::erase_if(roots, [&](const std::optional<Rank>& root) {
        return !root || std::ranges::any_of(guideline.right, [&](Collective coll) {
            return has_root(coll) && !times.contains(sibling(call, coll, root));
        });
    });
    return roots;
}

// Finds the times with the same data. Sizes of collectives in blocks are rounded up to whole
// elements for each rank, so sizes that are rounded to the same one are equal. The time of a
// slightly shorter vector is scaled up.
std::optional<Parts::value_type> of_same_request(
    const GuidelineCall& call, std::int64_t size, Collective coll,
    const std::map<std::int64_t, EstimatesByLaunch>& sizes) {
    if (const auto found = sizes.find(size); found != sizes.end()) return {{1, &found->second}};
    if (has_blocks(call.coll) == has_blocks(coll)) return std::nullopt;
    const std::int64_t unit =
        call.setting.nranks * static_cast<std::int64_t>(size_of(call.setting.dtype));
    const auto blocks = [&](std::int64_t bytes) { return bytes / unit + (bytes % unit != 0); };
    std::optional<Parts::value_type> longest;
    for (const auto& [other, launches] : sizes)
        if (other > 0 && blocks(other) == blocks(size))
            longest = {std::max(1., static_cast<double>(size) / static_cast<double>(other)),
                       &launches};
    return longest;
}

// Finds the smallest call with data instead of one without: any size and type does as much.
std::optional<Parts::value_type> of_smallest_request(const GuidelineCall& call, Collective coll,
                                                     const GuidelineTimes& times) {
    const std::pair<const std::int64_t, EstimatesByLaunch>* smallest = nullptr;
    for (const auto& [other, sizes] : times) {
        GuidelineSetting setting = other.setting;
        setting.dtype = call.setting.dtype;
        if (other.coll != coll || setting != call.setting) continue;
        const auto found = sizes.upper_bound(0);
        if (found != sizes.end() && (smallest == nullptr || found->first < smallest->first))
            smallest = &*found;
    }
    if (smallest == nullptr) return std::nullopt;
    return {{1, &smallest->second}};
}

std::optional<Parts::value_type> part_of(const GuidelineCall& call, std::int64_t size,
                                         Collective coll, std::optional<Rank> root,
                                         const GuidelineTimes& times) {
    if (!has_buffers(call.coll)) return of_smallest_request(call, coll, times);
    const auto other = times.find(sibling(call, coll, root));
    return other == times.end() ? std::nullopt : of_same_request(call, size, coll, other->second);
}

void check_by_others(const std::string& candidate, const Guideline& guideline,
                     const GuidelineCall& call, const GuidelineTimes& times,
                     std::vector<GuidelineCheck>& checks) {
    if (adds_up_too_little(guideline, call)) return;
    for (const std::optional<Rank>& root : roots_for(guideline, call, times))
        for (const auto& [size, takes] : times.at(call)) {
            Parts parts;
            for (const Collective coll : guideline.right)
                if (const auto part = part_of(call, size, coll, root, times))
                    parts.push_back(*part);
            if (parts.size() == guideline.right.size())
                checks.push_back(check_of(candidate, guideline.words(), guideline.words(), call,
                                          size, takes, parts));
        }
}

// Compares every size with the next one.
void check_sizes(const std::string& candidate, const GuidelineCall& call,
                 const std::map<std::int64_t, EstimatesByLaunch>& sizes,
                 std::vector<GuidelineCheck>& monotone, std::vector<GuidelineCheck>& split) {
    const std::string_view coll = name_of(call.coll);
    for (auto one = sizes.begin(), next = one; ++next != sizes.end(); one = next) {
        const auto& [size, takes] = *one;
        const auto& [larger, takes_more] = *next;
        const std::string small = to_string(Bytes{size}), large = to_string(Bytes{larger});
        monotone.push_back(check_of(candidate, monotone_rule,
                                    fmt::format("{}: time({}) <= time({})", coll, small, large),
                                    call, size, takes, {{1, &takes_more}}));
        if (size == 0 || larger % size != 0) continue;
        const std::int64_t k = larger / size;
        split.push_back(check_of(candidate, split_rule,
                                 fmt::format("{}: time({}) <= {} time({})", coll, large, k, small),
                                 call, larger, takes_more, {{static_cast<double>(k), &takes}}));
    }
}

// Explains why nothing could be compared although all collectives were measured.
std::string why_not(const Guideline& guideline, const GuidelineTimes& times) {
    std::map<Collective, std::map<std::string, std::set<std::string>>> values;
    for (const auto& [call, sizes] : times) {
        if (call.coll == guideline.left && adds_up_too_little(guideline, call))
            return "calls of a row (--sync row) overlap where there is a root, so their times "
                   "cannot "
                   "be added; use --sync barrier or deadline";
        const Json fields = encode(call.setting);
        for (const auto& [name, value] : fields.items())
            values[call.coll][name].insert(value.dump());
    }
    std::vector<std::string> differing;
    const Json fields = encode(GuidelineSetting{});
    for (const auto& [name, value] : fields.items()) {
        const auto& of_left = values[guideline.left][name];
        const auto is_common = [&](const std::string& one) {
            return std::ranges::all_of(
                guideline.right, [&](Collective coll) { return values[coll][name].contains(one); });
        };
        if (std::ranges::none_of(of_left, is_common)) differing.push_back(name);
    }
    if (differing.empty())
        return "no size was measured for all of these collectives in the same setting";
    return fmt::format("their measurements differ in {}", fmt::join(differing, ", "));
}

UncheckedGuideline unchecked(const std::string& candidate, const Guideline& guideline,
                             const GuidelineTimes& times) {
    std::vector<std::string> missing;
    std::vector<Collective> colls{guideline.left};
    colls.insert(colls.end(), guideline.right.begin(), guideline.right.end());
    for (const Collective coll : colls)
        if (std::ranges::none_of(times, [&](const auto& one) { return one.first.coll == coll; }))
            missing.emplace_back(name_of(coll));
    std::string reason = missing.empty()
                             ? why_not(guideline, times)
                             : fmt::format("nothing was measured of {}", fmt::join(missing, ", "));
    return {candidate, guideline.words(), std::move(reason), std::move(missing)};
}

}  // namespace

std::string Guideline::words() const {
    std::vector<std::string_view> names;
    for (const Collective coll : right) names.push_back(name_of(coll));
    return fmt::format("{} <= {}", name_of(left), fmt::join(names, " + "));
}

// A new rule is a line.
const std::vector<Guideline>& all_guidelines() {
    static const std::vector<Guideline> rules{
        {all_reduce, {reduce_scatter, all_gather}},
        {all_reduce, {reduce, broadcast}},
        {reduce_scatter, {reduce, scatter}},
        {reduce_scatter, {all_reduce}},  // whose result includes the block
        {all_gather, {gather, broadcast}},
        {all_gather, {all_to_all}},  // every rank sends its block to each
        {broadcast, {scatter, all_gather}},
        {reduce, {reduce_scatter, gather}},
        {reduce, {all_reduce}},
        {gather, {all_gather}},
        {scatter, {broadcast}},           // and each rank keeps its block
        {all_reduce, {scan, broadcast}},  // the last rank has the sum
        {barrier, {all_reduce}},          // whose result needs all ranks
        {barrier, {all_gather}},
    };
    return rules;
}

std::vector<std::string> libraries_in(const std::vector<Point>& points) {
    std::set<std::string> names;
    for (const Point& point : points)
        if (!point.key.configuration.is_ours()) names.insert(point.key.configuration.impl);
    return {names.begin(), names.end()};
}

std::vector<std::string> guideline_candidates(const std::vector<Point>& points) {
    std::vector<std::string> names = libraries_in(points);
    std::set<std::string> choosing;
    bool has_best = false;
    for (const Point& point : points) {
        if (!point.key.configuration.is_ours()) continue;
        if (chooses(point.key))
            choosing.insert(point.key.configuration.algorithm);
        else
            has_best = true;
    }
    names.insert(names.end(), choosing.begin(), choosing.end());
    if (has_best) names.emplace_back("best");
    return names;
}

std::vector<std::string> own_candidates(const std::vector<Point>& points) {
    std::set<std::string> names{"best"};
    for (const Point& point : points)
        if (point.key.configuration.is_ours())
            names.insert({point.key.configuration.algorithm, candidate_in_words(point.key)});
    return {names.begin(), names.end()};
}

GuidelineTimes guideline_times(const std::string& candidate, const Results& results) {
    std::map<std::pair<GuidelineCall, std::int64_t>, std::map<std::string, EstimatesByLaunch>>
        measured;
    for (const Results& launch : by_launch(results)) {
        const GuidelineSetting of_launch = setting_of(launch.launches.front());
        for (const Point& point : launch.points) {
            const Key& key = point.key;
            if (!is_of(candidate, key) || point.skipped || is_wrong(point)) continue;
            // Guidelines are about equal blocks, on hosts without other load.
            if (!key.blocks.empty() || !key.aggressor.empty()) continue;
            require_possible(point);
            GuidelineSetting setting = of_launch;
            setting.nranks = key.nranks;
            setting.ppn = key.ppn;
            setting.placement = key.placement;
            setting.dtype = key.dtype;
            setting.buf = key.buf;
            setting.input = key.input;
            setting.inplace = key.inplace;
            setting.start =
                fmt::format("{} {}", name_of(point.measured.start), name_of(point.measured.from));
            const GuidelineCall call{std::move(setting), key.coll, key.op, key.root};
            measured[{call, key.bytes.count}][candidate_in_words(key)]
                    [{point.session, point.launch}] = estimate_of(point.time);
        }
    }
    GuidelineTimes times;
    for (const auto& [place, variants] : measured) {
        // The fastest; one that was measured in fewer launches may only have been lucky.
        const auto best = std::ranges::min_element(variants, {}, [](const auto& variant) {
            return std::pair{-std::ssize(variant.second), mean_of(variant.second).log};
        });
        times[place.first][place.second] = best->second;
    }
    return times;
}

GuidelineChecks check_guidelines(const std::string& candidate, const GuidelineTimes& times) {
    GuidelineChecks found;
    for (const Guideline& guideline : all_guidelines()) {
        const std::size_t before = found.checks.size();
        for (const auto& [call, sizes] : times)
            if (call.coll == guideline.left)
                check_by_others(candidate, guideline, call, times, found.checks);
        if (found.checks.size() == before)
            found.unchecked.push_back(unchecked(candidate, guideline, times));
    }
    std::vector<GuidelineCheck> monotone, split;
    for (const auto& [call, sizes] : times) check_sizes(candidate, call, sizes, monotone, split);
    for (const auto& [name, checks, reason] :
         {std::tuple{monotone_rule, &monotone, "each call was measured at one size only"},
          std::tuple{split_rule, &split, "no size is a whole multiple of the next smaller one"}}) {
        if (checks->empty())
            found.unchecked.push_back({candidate,
                                       std::string(name),
                                       times.empty() ? "nothing was measured" : reason,
                                       {}});
        found.checks.insert(found.checks.end(), checks->begin(), checks->end());
    }
    return found;
}

void judge(std::vector<GuidelineCheck>& checks, double tolerance) {
    std::vector<GuidelineCheck*> tested;
    std::vector<double> chances;
    for (GuidelineCheck& check : checks) {
        std::tie(check.low, check.high) = check.ratio.interval();
        check.p = 1;
        if (!check.is_comparable) continue;
        tested.push_back(&check);
        chances.push_back(check.ratio.chance_within(1 + tolerance));
    }
    const std::vector<double> adjusted = adjusted_by_holm(chances);
    for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->p = adjusted[i];
    for (GuidelineCheck& check : checks)
        check.verdict = check.p <= 0.05               ? "violated"
                        : check.high <= 1 + tolerance ? "kept"
                                                      : "undecided";
    std::ranges::stable_sort(checks, std::greater{},
                             [](const GuidelineCheck& check) { return check.ratio.log; });
}

}  // namespace tutti
