// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/agreement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "autotune/table/verdict.hpp"
#include "autotune/tuner/hold_out.hpp"
#include "autotune/tuner/tasks.hpp"
#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// A launch that has not raced a configuration at a size had dropped it before. It counts as slower
// than the fastest by this factor.
constexpr double left_out = 2;

// Medians in ns of one launch at one size, by arm.
using Medians = std::map<int, double>;

double fastest(const Medians& launch) {
    return std::ranges::min_element(launch, {}, [](const auto& arm) { return arm.second; })->second;
}

double behind_the_fastest(int arm, std::span<const Medians> launches) {
    std::vector<double> ratios;
    for (const Medians& launch : launches) {
        const auto own = launch.find(arm);
        ratios.push_back(own == launch.end() ? left_out : own->second / fastest(launch));
    }
    return median(std::move(ratios));
}

Finding finding_of(Bytes size, std::span<const Medians> launches) {
    SamplesByArm samples;
    for (const Medians& launch : launches)
        for (const auto& [arm, ns] : launch) samples[arm].push_back(ns);
    Finding finding{.size = size, .measured = true};
    for (const auto& [arm, medians] : samples)
        finding.entries.push_back({arm, medians, behind_the_fastest(arm, launches)});
    std::ranges::stable_sort(finding.entries, {}, [](const Evidence& entry) {
        return std::pair(*entry.ratio, -static_cast<std::ptrdiff_t>(entry.samples_ns.size()));
    });
    finding.winner = finding.entries.front().arm;
    const double of_winner = *finding.entries.front().ratio;
    for (Evidence& entry : finding.entries) *entry.ratio /= of_winner;
    return finding;
}

using OfSubject = std::span<const std::pair<const Section*, const std::vector<RaceLog::Entry>*>>;

// The races of several launches for one subject, with configurations as arms.
class SubjectRaces {
public:
    explicit SubjectRaces(OfSubject launches) {
        for (const auto& [section, races] : launches)
            for (const RaceLog::Entry& race : *races)
                if (race.subject == section->subject && race.samples_ns.empty())
                    wrong_.push_back(race.configuration);
        for (const auto& [section, races] : launches) add(*races, section->subject);
    }

    std::vector<Range> ranges(double hysteresis) const {
        std::vector<Finding> findings;
        for (const auto& [size, launches] : sizes_) findings.push_back(finding_of(size, launches));
        return ranges_found(
            findings, [this](int arm) -> const Configuration& { return at(arms_, arm); },
            hysteresis);
    }

private:
    void add(const std::vector<RaceLog::Entry>& launch, const Subject& subject) {
        std::map<Bytes, SamplesByArm> samples;
        for (const RaceLog::Entry& race : launch) {
            if (race.subject != subject || std::ranges::count(wrong_, race.configuration) > 0)
                continue;
            auto& all = samples[race.size][arm_of(race.configuration)];
            all.insert(all.end(), race.samples_ns.begin(), race.samples_ns.end());
        }
        for (const auto& [size, by_arm] : samples) {
            Medians& medians = sizes_[size].emplace_back();
            for (const auto& [arm, all] : by_arm) medians[arm] = median(all);
        }
    }

    int arm_of(const Configuration& configuration) {
        const auto known = std::ranges::find(arms_, configuration);
        const auto arm = static_cast<int>(known - arms_.begin());
        if (known == arms_.end()) arms_.push_back(configuration);
        return arm;
    }

    std::vector<Configuration> wrong_, arms_;
    std::map<Bytes, std::vector<Medians>> sizes_;
};

// Adds the launches' choices to the evidence if they differ.
void add_disagreement(Section& section, OfSubject launches) {
    for (Range& range : section.ranges)
        for (RangeEvidence& seen : range.evidence) {
            std::vector<Configuration> chosen;
            for (const auto& [own, races] : launches)
                chosen.push_back(range_at(*own, seen.size).choice);
            if (std::ranges::count(chosen, range.choice) != std::ssize(chosen))
                seen.of_launches = std::move(chosen);
        }
}

Section agreed_on(Section section, std::span<const TunedLaunch> launches, double hysteresis) {
    std::vector<std::pair<const Section*, const std::vector<RaceLog::Entry>*>> of_subject;
    section.launches.clear();
    for (const TunedLaunch& launch : launches) {
        const Section* own = find_section(launch.table, section.job_shape, section.subject);
        if (own == nullptr || !own->is_complete) section.is_complete = false;
        if (own == nullptr) continue;
        of_subject.emplace_back(own, &launch.races);
        section.launches.insert(section.launches.end(), own->launches.begin(), own->launches.end());
    }
    section.ranges = SubjectRaces(of_subject).ranges(hysteresis);
    add_disagreement(section, of_subject);
    return section;
}

// Combines the comparisons of several launches that saw the same choice and library.
HoldOut over(const std::vector<HoldOut>& launches) {
    if (launches.size() == 1) return launches.front();  // its own interval
    HoldOut all{.library = launches.front().library};
    std::vector<double> choice, default_, gains;
    for (const HoldOut& launch : launches) {
        choice.push_back(launch.choice.p50);
        default_.push_back(launch.default_.p50);
        gains.push_back(launch.gain);
    }
    all.choice = interval_of(choice);
    all.default_ = interval_of(default_);
    set_gain(all, gains);
    return all;
}

void hold_against(Verdict& verdict, const std::vector<Verdict>& launches,
                  const std::vector<std::string>& sessions) {
    std::vector<HoldOut> seen;
    for (const Verdict& launch : launches) {
        const auto& hold_out = launch.evidence.hold_out;
        if (hold_out && std::ranges::count(sessions, hold_out->launch) > 0)
            seen.push_back(*hold_out);
        else if (launch.choice != verdict.choice) {  // gave a wrong result there
            verdict = launch;
            return;
        }
    }
    if (seen.empty()) return;
    verdict.evidence.hold_out = over(seen);
    let_default_stay(verdict);
}

void hold_against(Section& section, std::span<const Table> launches) {
    const auto sizes = sizes_of(section);
    std::vector<std::string> sessions;
    std::vector<std::vector<Verdict>> by_size(sizes.size());
    for (const Table& launch : launches) {
        const Section* own = find_section(launch, section.job_shape, section.subject);
        if (own == nullptr || own->launches.size() <= section.launches.size()) continue;
        sessions.push_back(own->launches.back());
        if (!own->is_complete) section.is_complete = false;
        section.measured_at = own->measured_at;
        const auto verdicts = verdicts_of(*own, sizes);
        for (std::size_t i = 0; i < sizes.size(); ++i) by_size[i].push_back(verdicts[i]);
    }
    if (sessions.empty()) return;
    auto verdicts = verdicts_of(section, sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) hold_against(verdicts[i], by_size[i], sessions);
    section.ranges = ranges_of(verdicts);
    section.launches.insert(section.launches.end(), sessions.begin(), sessions.end());
}

}  // namespace

Table agreed(std::span<const TunedLaunch> launches, double hysteresis) {
    if (launches.size() == 1) return launches.front().table;
    std::vector<Table> tables;
    for (const TunedLaunch& launch : launches) tables.push_back(launch.table);
    Table table = merged(tables);
    for (Section& section : table.sections)
        section = agreed_on(std::move(section), launches, hysteresis);
    std::erase_if(table.sections, [](const Section& section) { return section.ranges.empty(); });
    return table;
}

Table held_out(Table table, std::span<const Table> launches) {
    for (Section& section : table.sections) hold_against(section, launches);
    for (const Table& launch : launches) table.written = launch.written;
    return table;
}

namespace {

// A smaller gain is not worth a rule. On some machines it becomes a loss within minutes.
constexpr double least_gain = 1.03;

// A size of a section with what a comparison saw there.
struct SizeOfSection {
    Verdict verdict;
    const ComparedSize* compared = nullptr;  // null: was not compared
};

// Returns the gain of a size with its pooled interval: that of the mean gain in each launch of the
// size and its direct neighbours that have the same choice. One disturbed call in a launch changes
// the gain of one size, but hardly that of three.
HoldOut gain_with_neighbours(std::span<const SizeOfSection> sizes, std::size_t here) {
    const ComparedSize& own = *sizes[here].compared;
    HoldOut together = own.seen;
    if (std::ssize(own.gains) < fewest_pairs) return together;
    std::vector<double> means;
    for (const auto& [launch, own_gain] : own.gains) {
        double logs = 0;
        int joined = 0;
        for (std::size_t i = here > 0 ? here - 1 : 0; i < std::min(here + 2, sizes.size()); ++i) {
            const ComparedSize* other = sizes[i].compared;
            if (other == nullptr || !other->gains.contains(launch) ||
                sizes[i].verdict.choice != sizes[here].verdict.choice)
                continue;
            logs += std::log(other->gains.at(launch));
            ++joined;
        }
        means.push_back(std::exp(logs / joined));
    }
    set_gain(together, means);
    return together;
}

// Whether the choice is the library's own collective, with which `seen` compared it.
bool is_default(const Verdict& verdict, const HoldOut& seen) {
    return verdict.choice == Configuration{.impl = seen.library};
}

// The whole own interval must show it: among many sizes, some medians exceed the limit by chance,
// and one of them would remove all choices. The whole pooled interval must show it, too: the
// look-up of rules costs the same at each size.
bool makes_default_slower(std::span<const SizeOfSection> sizes, std::size_t here) {
    constexpr double most_loss = 0.02;
    const ComparedSize* own = sizes[here].compared;
    return own != nullptr && is_default(sizes[here].verdict, own->seen) &&
           own->seen.gain_high < 1 - most_loss &&
           gain_with_neighbours(sizes, here).gain_high < 1 - most_loss;
}

Gain judge_gain(std::span<const SizeOfSection> sizes, std::size_t here, Needed needed) {
    const HoldOut& seen = sizes[here].compared->seen;
    const double least = needed == Needed::gain ? 1 : least_gain;
    const bool is_enough =
        seen.gain >= least && (seen.gain_low > 1 || gain_with_neighbours(sizes, here).gain_low > 1);
    return is_enough ? Gain::enough : Gain::too_small;
}

}  // namespace

Table held_out(Table table, const JobShape& job_shape, std::string_view library,
               std::span<const ComparedSize> compared, Needed needed) {
    for (Section& section : table.sections) {
        if (section.job_shape != job_shape) continue;
        std::map<Bytes, const ComparedSize*> compared_at;
        for (const Bytes size : sizes_of(section)) compared_at[size];
        for (const ComparedSize& one : compared)
            if (one.collective == section.subject.collective) compared_at[one.size] = &one;
        std::vector<SizeOfSection> sizes;
        for (const auto& [size, one] : compared_at)
            sizes.push_back({verdicts_of(section, std::array{size}).front(), one});
        std::vector<Verdict> verdicts;
        bool any_default_slower = false;
        double logs_of_gains = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            Verdict verdict = sizes[i].verdict;
            const Configuration before = verdict.choice;
            std::optional<HoldOut> seen;
            if (sizes[i].compared != nullptr) seen = sizes[i].compared->seen;
            any_default_slower = any_default_slower || makes_default_slower(sizes, i);
            const bool is_new = needed == Needed::gain || !verdict.evidence.hold_out;
            if (seen) {
                // A neighbour's choice, which the search may not have timed at this size.
                if (needed == Needed::gain_again && is_new) verdict.evidence.time = seen->choice;
                verdict.evidence.hold_out = seen;
                let_default_stay(verdict, judge_gain(sizes, i, needed));
            } else if (is_new) {
                verdict.evidence.hold_out.reset();
                restore_default(verdict, library);
            }
            if (seen && verdict.choice == before) logs_of_gains += std::log(seen->gain);
            verdicts.push_back(verdict);
        }
        const bool has_no_gain = needed == Needed::gain_again && logs_of_gains <= 0;
        for (Verdict& verdict : verdicts)
            if ((any_default_slower || has_no_gain) && verdict.evidence.hold_out)
                restore_default(verdict, library);
        section.ranges = ranges_of(verdicts);
    }
    return table;
}

Table with_choices_of_neighbours(Table table) {
    const auto has_lost = [](const Verdict& verdict) {
        return verdict.origin == Origin::kept && verdict.evidence.hold_out;
    };
    const auto gain_of = [](const Verdict& verdict) { return verdict.evidence.hold_out->gain; };
    for (Section& section : table.sections) {
        const std::vector<Verdict> before = verdicts_of(section, sizes_of(section));
        std::vector<Verdict> verdicts = before;
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (!has_lost(before[i])) continue;
            const Verdict* best = nullptr;
            for (const std::size_t other : {i - 1, i + 1}) {
                if (other >= before.size()) continue;
                const Verdict& neighbour = before[other];
                if (!neighbour.evidence.hold_out ||
                    is_default(neighbour, *neighbour.evidence.hold_out) ||
                    neighbour.choice == before[i].evidence.runner_up)
                    continue;
                if (best == nullptr || gain_of(neighbour) > gain_of(*best)) best = &neighbour;
            }
            if (best == nullptr) continue;
            verdicts[i].choice = best->choice;
            verdicts[i].origin = best->origin;
            verdicts[i].evidence.hold_out.reset();
        }
        section.ranges = ranges_of(verdicts);
    }
    return table;
}

Table replaced_in(Table earlier, const Table& newer) {
    std::erase_if(earlier.sections, [&](const Section& old) {
        return std::ranges::any_of(newer.sections, [&](const Section& section) {
            return section.job_shape == old.job_shape &&
                   section.subject.collective == old.subject.collective &&
                   section.subject.buffers == old.subject.buffers;
        });
    });
    return merged(std::vector{std::move(earlier), newer});
}

}  // namespace tutti
