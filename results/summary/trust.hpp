// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "results/summary/cores.hpp"
#include "results/summary/ranking.hpp"
#include "results/summary/setups.hpp"

namespace tutti {

/// How much of the results stays reliable under a condition.
enum class Reliable { all, ranking, nothing };

/// A condition of the measurement that readers must know.
struct Note {
    std::string mark;  ///< "one launch": a short name, the same wherever it is shown
    std::string text;
    Reliable leaves = Reliable::all;
    std::string because = {};  ///< the reason in a few words, for the verdict
};

/// The marks that programs look for.
inline constexpr const char* one_launch_mark = "one launch";

/// Judges how far times can be trusted, from what is known of their launches.
class Trust {
public:
    /// Each element has one launch with its session, see by_launch.
    explicit Trust(std::span<const Results> launches);

    /// Whether other programs used the cores meanwhile: the ranks had a core each and should start
    /// at deadlines, but missed most of them.
    bool is_disturbed(const Point& point) const;

    /// The conditions of these points and of the cells that summarise them, the worst first.
    std::vector<Note> notes(std::span<const Point* const> points,
                            std::span<const RankedCell* const> cells = {}) const;
    std::vector<Note> notes(std::span<const TrainingStep* const> steps) const {
        return notes({}, steps, {});
    }
    /// Takes points and steps together.
    std::vector<Note> notes(std::span<const Point* const> points,
                            std::span<const TrainingStep* const> steps,
                            std::span<const RankedCell* const> cells) const;

private:
    using Launches = std::vector<LaunchId>;
    bool starts_at_deadlines(const LaunchId& launch, int ranks) const;
    double own_load(const LaunchId& launch) const;
    void add_oversubscribed(const Launches& launches, std::vector<Note>& notes) const;
    void add_simulated(const Launches& launches, std::vector<Note>& notes) const;
    void add_load(const Launches& launches, std::vector<Note>& notes) const;
    void add_health(const Launches& launches, std::vector<Note>& notes) const;

    std::map<LaunchId, const Results*> launches_;
    std::set<std::string> late_;  // calls of which some candidate was never on time
};

/// The worst of the notes.
Reliable reliability(std::span<const Note> notes);
bool has_one_launch(std::span<const Note> notes);

/// A table of the report, as the verdict sees it.
struct JudgedTable {
    std::span<const Note> notes;
    bool is_measured = true;  ///< with right results
};

/// Adds what only holds for the report as a whole to the notes of all its points and steps. Each
/// element of `launches` has one launch, see by_launch.
std::vector<Note> notes_of_report(const Results& results, std::span<const Results> launches,
                                  std::vector<Note> notes, std::span<const JudgedTable> tables);

/// One line: how far the report can be trusted, and why. `notes` are those of the whole report.
std::string verdict_of(std::span<const Note> notes, std::span<const JudgedTable> tables);

}  // namespace tutti
