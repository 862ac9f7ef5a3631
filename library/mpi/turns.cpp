// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/turns.hpp"

#include <map>
#include <mutex>

#include "base/index.hpp"

namespace tutti {
namespace {

// For a report without turns: the MPI library does few calls, at negligible cost.
constexpr std::int64_t sparse_block = 4, sparse_period = 256;

// Limits the memory: more pairs add no precision.
constexpr std::size_t most_pairs = 1000;

// Never destroyed, as MPI may end in the destructor of another library, after this one's.
auto& ended_mutex = *new std::mutex;
auto& ended = *new std::map<std::pair<CallKind, int>, ClassTotals>;

}  // namespace

ClassTurns::Turn ClassTurns::next(const PreloadSettings& settings) {
    const bool alternates = settings.turn_calls > 0;
    block_ = alternates ? settings.turn_calls : sparse_block;
    const std::int64_t period = alternates ? 2 * block_ : sparse_period;
    const std::int64_t number = calls_ / period, place = calls_ % period;
    ++calls_;
    if (place == 0) {  // resets the times even if an error handler left a call by longjmp
        sum_ = {};
        timed_ = 0;
    }
    const bool library_first = number % 2 == 0;
    Turn turn;
    if (place < 2 * block_ && (alternates || number > 0))
        turn = {(place < block_) == library_first ? By::library : By::tutti, number > 0};
    ++totals.calls;
    if (turn.by == By::tutti) ++totals.by_tutti;
    return turn;
}

// The first period is not timed, because plans are made in it.
void ClassTurns::took(double ns, const Turn& turn) {
    (turn.by == By::library ? sum_.library : sum_.tutti) += ns;
    if (++timed_ < 2 * block_) return;
    const auto calls = static_cast<double>(block_);
    if (totals.pairs.size() < most_pairs)
        totals.pairs.push_back({sum_.library / calls, sum_.tutti / calls});
    sum_ = {};
    timed_ = 0;
}

ClassTurns& TurnsOfCalls::of(SizeClass size_class) {
    std::uint16_t& place = at(at(place_of_, size_class.kind), size_class.octave);
    if (place == 0) {
        classes_.emplace_back(size_class, ClassTurns{});
        place = static_cast<std::uint16_t>(classes_.size());
    }
    return at(classes_, place - 1).second;
}

TurnsOfCalls::~TurnsOfCalls() {
    const std::lock_guard lock(ended_mutex);
    for (const auto& [size_class, turns] : classes_) {
        ClassTotals& all = ended[{size_class.kind, size_class.octave}];
        const auto& pairs = turns.totals.pairs;
        const std::size_t room = most_pairs - std::min(most_pairs, all.pairs.size());
        all.calls += turns.totals.calls;
        all.by_tutti += turns.totals.by_tutti;
        all.rare += turns.totals.rare;
        all.left += turns.totals.left;
        all.pairs.insert(all.pairs.end(), pairs.begin(),
                         pairs.begin() + static_cast<std::ptrdiff_t>(std::min(room, pairs.size())));
    }
}

std::vector<ProcessTotals> process_totals() {
    const std::lock_guard lock(ended_mutex);
    std::vector<ProcessTotals> all;
    for (const auto& [key, totals] : ended) all.push_back({{key.first, key.second}, totals});
    return all;
}

}  // namespace tutti
