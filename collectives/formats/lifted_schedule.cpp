// SPDX-License-Identifier: Apache-2.0
#include "collectives/formats/lifted_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_versions = 1'000'000;
// Few passes are needed, as versions are in the order of execution, unless transfers wait for each
// other.
constexpr std::size_t most_visits = 100'000'000;
constexpr const char* two_values =
    "needs two values of a chunk at the same time, which a schedule cannot express; use a program "
    "that sends partial sums instead of collecting them";
constexpr const char* add_once = "use a program that adds each rank's share of a chunk once";

std::string in_words(Rank rank, FilePlace place) {
    return fmt::format("{}[{}] of rank {}", static_cast<char>(place.buffer), place.index,
                       rank.index);
}

// A rank of a schedule has one value of a chunk at a time; a program may have several, in scratch
// or in flight. So a value stays with the rank that made it until another rank needs it: to add it,
// to send it on, or as its result.
class LiftedProgram {
public:
    LiftedProgram(int chunks, const CollectiveSpec& spec, Aliasing aliasing, const Source& source)
        : source_(source),
          chunks_(chunks),
          spec_(spec),
          places_(chunks, spec, aliasing),
          newest_(as_size(spec.ranks()) * as_size(chunks), -1),
          memory_(as_size(spec.ranks())) {
        for (Rank rank : all_ranks(spec.ranks()))
            for (int chunk = 0; chunk < chunks; ++chunk) {
                if (!places_.starts_with(rank, chunk)) continue;
                newest(rank, chunk) = int_size(versions_);
                versions_.push_back({.rank = rank, .chunk = chunk});
                write(rank, places_.of_input(rank, chunk), newest(rank, chunk));
            }
    }

    void run(const std::vector<ReadBlock>& blocks) {
        std::vector<std::size_t> next(blocks.size());
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (std::size_t i = 0; i < blocks.size(); ++i)
                for (const auto& all = blocks[i].operations;
                     next[i] < all.size() && may_begin(all[next[i]]); ++next[i]) {
                    execute(all[next[i]], blocks[i].rank);
                    has_moved = true;
                }
        }
        constexpr const char* match =
            "use a program in which sends and receives, and signals and waits, match, and no "
            "operations wait for each other";
        for (std::size_t i = 0; i < blocks.size(); ++i)
            if (next[i] < blocks[i].operations.size()) {
                line_ = blocks[i].operations[next[i]].line;
                refute(fmt::format("deadlocks: rank {} waits here for ever", blocks[i].rank.index),
                       match);
            }
        line_ = 1;  // errors from here on concern the whole program
        for (const auto& [counter, left] : counts_)
            if (counter[0] != dependence_counter && left > 0)
                refute("leaves a send without a receive, or a signal without a wait", match);
        take_results();
        find_steps();
    }

    Schedule schedule() const {
        std::vector<std::vector<Transfer>> steps;
        for (const Version& made : versions_) {
            if (made.source < 0) continue;
            if (int_size(steps) < made.step) steps.resize(as_size(made.step));
            std::vector<Transfer>& step = at(steps, made.step - 1);
            const Rank from = at(versions_, made.source).rank;
            if (!step.empty()) {  // continues the last run of chunks
                Transfer& last = step.back();
                if (last.from == from && last.to == made.rank && last.action == made.action &&
                    last.chunks.first + last.chunks.count == made.chunk) {
                    ++last.chunks.count;
                    continue;
                }
            }
            step.push_back({{made.chunk, 1}, from, made.rank, made.action});
        }
        return schedule_of_steps(spec_.ranks(), chunks_, std::move(steps));
    }

private:
    // A value that a rank had of a chunk, and the transfer that made it of the previous one.
    struct Version {
        Rank rank;
        int chunk;
        int previous = -1, next = -1;
        int source = -1;  // a version of the sender; -1: the rank started with it
        Action action = Action::copy;
        int uses = 0;  // places that hold it
        int step = 0;  // 0: before the first
    };

    Version& version(int number) { return at(versions_, number); }
    int& newest(Rank rank, int chunk) {
        return newest_[as_size(rank) * as_size(chunks_) + as_size(chunk)];
    }

    [[noreturn]] void refute(std::string_view what, std::string_view cure) const {
        throw Error(printable(source_.at(line_, fmt::format("{}; {}", what, cure))),
                    Exit::wrong_result);
    }

    bool may_begin(const ReadOperation& operation) {
        const auto has_arrived = [&](const ReadMemory& source) {
            if (source.place.buffer != FileBuffer::scratch) return true;
            for (int i = 0; i < source.count; ++i)
                if (!at(memory_, source.rank).contains(source.place.next(i))) return false;
            return true;
        };
        return std::ranges::all_of(operation.waits,
                                   [&](const ReadCounter& one) { return counts_[one] > 0; }) &&
               (!operation.awaits_scratch || std::ranges::all_of(operation.sources, has_arrived));
    }

    void execute(const ReadOperation& operation, Rank rank) {
        line_ = operation.line;
        const auto& [line, reduces, awaits, sources, targets, waits, signals] = operation;
        for (const ReadCounter& counter : waits)
            if (counter[0] != dependence_counter) --counts_[counter];
        for (const ReadCounter& counter : signals) ++counts_[counter];
        for (std::size_t k = 0; k < targets.size(); ++k)
            for (int i = 0; i < targets[k].count; ++i) {
                const ReadMemory& target = targets[k];
                const auto read_from = [&](const ReadMemory& from, Rank reader) {
                    return read(from.rank, from.place.next(i), reader);
                };
                const bool is_shared = reduces || sources.size() == 1;
                // Further targets get copies of what the rank now has.
                const bool has_it = k > 0 && is_shared && (reduces || targets[0].rank == rank);
                int value = read_from(has_it ? targets[0] : sources[is_shared ? 0 : k],
                                      reduces && !has_it ? rank : target.rank);
                if (reduces && !has_it)
                    for (std::size_t s = 1; s < sources.size(); ++s)
                        value = add(rank, value, read_from(sources[s], rank));
                write(target.rank, target.place.next(i), value);
            }
    }

    // Adds a transfer: the rank's newest version of the chunk now copies, or adds, this value.
    int receive(Rank rank, int value, Action action) {
        if (versions_.size() >= most_versions)
            source_.fail(line_, "has too many transfers; use a file of fewer ranks or chunks");
        int& last = newest(rank, version(value).chunk);
        const int made = int_size(versions_);
        versions_.push_back({.rank = rank,
                             .chunk = version(value).chunk,
                             .previous = last,
                             .source = value,
                             .action = action});
        if (last >= 0) version(last).next = made;
        return last = made;
    }

    int own(Rank rank, int value) {
        return version(value).rank == rank ? value : receive(rank, value, Action::copy);
    }

    // Returns the value at a place. If another rank reads it, the owner gets the value first.
    int read(Rank rank, FilePlace place, Rank reader) {
        const auto found = at(memory_, rank).find(places_.memory_of(rank, place));
        if (found == at(memory_, rank).end())
            refute(fmt::format("reads {} before it is written", in_words(rank, place)),
                   "use a program that writes it first");
        int& value = found->second;
        if (rank != reader) {
            --version(value).uses;
            value = own(rank, value);
            ++version(value).uses;
        }
        return value;
    }

    void write(Rank rank, FilePlace place, int value) {
        const auto [cell, is_new] = at(memory_, rank).try_emplace(places_.memory_of(rank, place));
        const int last = newest(rank, version(value).chunk);
        if (!is_new) --version(cell->second).uses;
        // The rank takes the value as its own if this overwrites the last place of its newest
        // value, or if it had none. Scratch does not count, because another value may arrive first.
        const bool is_first = last < 0 && place.buffer != FileBuffer::scratch;
        if (is_first || (!is_new && cell->second == last && version(last).uses == 0))
            value = own(rank, value);
        cell->second = value;
        ++version(value).uses;
    }

    // Returns the sum. One of the two values must be the rank's newest value of the chunk.
    int add(Rank rank, int a, int b) {
        const int chunk = version(a).chunk;
        const std::string who = fmt::format("makes rank {} add ", rank.index);
        if (version(b).chunk != chunk)
            refute(fmt::format("{}chunk {} to chunk {}", who, version(b).chunk, chunk), add_once);
        if (!spec_.reduces())
            refute(fmt::format("{}to chunk {}, but {} adds nothing", who, chunk,
                               name_of(spec_.collective())),
                   "use a file that says it is a reduction, such as allreduce");
        const int last = newest(rank, chunk);
        if (a != last && b == last) std::swap(a, b);
        if (a != last) {
            if (version(a).rank == rank) std::swap(a, b);
            a = receive(rank, a, Action::copy);
        }
        if (a == b) refute(fmt::format("{}chunk {} to itself", who, chunk), add_once);
        return receive(rank, b, Action::reduce);
    }

    void take_results() {
        for (Rank rank : all_ranks(spec_.ranks()))
            for (int chunk = 0; chunk < chunks_; ++chunk) {
                if (!places_.ends_with(rank, chunk)) continue;
                const FilePlace output = places_.of_output(rank, chunk);
                const auto found = at(memory_, rank).find(places_.memory_of(rank, output));
                const bool is_empty = found == at(memory_, rank).end();
                if (is_empty || version(found->second).chunk != chunk)
                    refute(fmt::format("leaves {} in {}, where chunk {} belongs",
                                       is_empty
                                           ? "nothing"
                                           : fmt::format("chunk {}", version(found->second).chunk),
                                       in_words(rank, output), chunk),
                           "use a program that delivers it");
                if (own(rank, found->second) != newest(rank, chunk))
                    source_.fail(line_, fmt::format("leaves an old value in {}, and {}",
                                                    in_words(rank, output), two_values));
            }
    }

    // A transfer reads a value after the step that made it, and before or in the step that replaces
    // it.
    void find_steps() {
        bool has_changed = true;
        const auto raise = [&](Version& one, int step) {
            if (one.step >= step) return;
            one.step = step;
            has_changed = true;
        };
        for (std::size_t visits = 0; has_changed; visits += versions_.size()) {
            if (visits > most_visits) source_.fail(line_, two_values);
            has_changed = false;
            for (Version& made : versions_) {
                if (made.source < 0) continue;
                const Version& source = version(made.source);
                raise(made, source.step + 1);
                if (made.previous >= 0) {
                    const Version& previous = version(made.previous);
                    const bool replaces = made.action == Action::copy && previous.source >= 0;
                    raise(made, previous.step + (replaces ? 1 : 0));
                }
                if (source.next >= 0) raise(version(source.next), made.step);
            }
        }
    }

    const Source& source_;
    int line_ = 1;
    int chunks_;
    CollectiveSpec spec_;
    FilePlaces places_;
    std::vector<Version> versions_;                 // a value is the number of one
    std::vector<int> newest_;                       // by rank, then chunk
    std::vector<std::map<FilePlace, int>> memory_;  // by rank: values
    std::map<ReadCounter, int> counts_;
};

}  // namespace

Schedule lifted_schedule(const std::vector<ReadBlock>& blocks, int chunks,
                         const CollectiveSpec& spec, Aliasing aliasing, const Source& source) {
    LiftedProgram program(chunks, spec, aliasing, source);
    program.run(blocks);
    return program.schedule();
}

Schedule schedule_of_steps(int ranks, int chunks, std::vector<std::vector<Transfer>> steps) {
    const Extent extent{.ranks = ranks, .chunks = chunks, .steps = int_size(steps)};
    const auto kept = std::make_shared<const std::vector<std::vector<Transfer>>>(std::move(steps));
    return {extent, [kept](int step, Step& out) {
                for (const Transfer& transfer : at(*kept, step)) out.add(transfer);
            }};
}

}  // namespace tutti
