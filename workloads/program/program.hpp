// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "collectives/execute/plan/layout.hpp"

namespace tutti {

/// Blocks of calls in which they differ in length: as they are, or padded to the longest one, as
/// equal blocks.
enum class Blocks : std::uint8_t { exact, padded };

/// A collective of a program: all ranks of a group do it together.
struct GroupCall {
    std::string label;  ///< "bucket 3", "gather block 7"
    int group = 0;      ///< index among Program::groups
    Call call;          ///< counted for the group's ranks; its root is an index into the group
    bool in_place = false;
    /// Calls that name the same memory have the same group and placement and differ at most in the
    /// lengths of blocks. They use the same buffers, so they are never under way at once; -1:
    /// separate buffers.
    int memory = -1;
    /// The calls of recorded steps, if they differ in the lengths of blocks: step k does entry k
    /// modulo their number. `call` is the one with the longest block.
    std::vector<Call> of_steps = {};

    const Call& in_step(std::int64_t step) const;
    /// Replaces the call by one for each recorded step, at least one.
    void set_steps(std::vector<Call> calls);
    bool operator==(const GroupCall&) const = default;
};

/// Returns an all-reduce in place: a mean, as of gradients, or another operation.
GroupCall all_reduce_call(std::string label, DataType type, std::int64_t count, Op op = Op::avg);

/// One action of a rank.
struct Task {
    enum class Kind : std::uint8_t {
        compute,  ///< for `compute_ns`
        start,    ///< a collective, which runs concurrently until its wait
        wait      ///< for the end of a collective that was started
    };
    enum class Phase : std::uint8_t { forward, backward, optimizer };

    Kind kind = Kind::compute;
    Phase phase = Phase::backward;
    int call = -1;  ///< start, wait: index among Program::calls
    /// compute: times of the recorded steps; step k takes entry k modulo their number.
    std::vector<std::int64_t> compute_ns = {};
    bool operator==(const Task&) const = default;
};

using Phase = Task::Phase;

/// One step of training as sizes and times: a list of tasks for each rank, done in order like a
/// framework's thread. What overlaps follows from where collectives are started and waited for.
/// Every pattern (data, sharded, tensor, pipeline, expert parallel) and every recorded trace is
/// such a program, so the same code runs, checks and counts them.
struct Program {
    std::string name;
    std::vector<std::vector<Rank>> groups;  ///< in the order of their members' relative ranks
    std::vector<GroupCall> calls;
    std::vector<std::vector<Task>> tasks;  ///< by role
    /// Role of each rank: ranks that do the same share a list, as there may be hundreds. Empty:
    /// rank r has role r.
    std::vector<int> role_of = {};

    /// The lengths of blocks that calls refer to; copies of the program share them.
    std::vector<std::shared_ptr<const BlockLengths>> lengths = {};

    int ranks() const { return static_cast<int>(role_of.empty() ? tasks.size() : role_of.size()); }
    std::vector<Task>& tasks_of(Rank rank);
    const std::vector<Task>& tasks_of(Rank rank) const;
    int add_call(GroupCall call);
    /// Returns `call` with blocks of these lengths, in the order of BlockLengths.
    Call with_lengths(Call call, std::span<const std::int64_t> counts, Blocks blocks);
    /// Append to the tasks of `rank` and all ranks in its role. Omit computing of 0 ns.
    void compute(Rank rank, std::int64_t ns, Task::Phase phase);
    void compute(Rank rank, std::vector<std::int64_t> ns_of_steps, Task::Phase phase);
    void start(Rank rank, int call, Task::Phase phase);
    void wait(Rank rank, int call, Task::Phase phase);
    /// Starts the call and waits for it at once, so nothing is hidden.
    void start_and_wait(Rank rank, int call, Task::Phase phase);
    int add_group(std::vector<Rank> members);
};

/// Returns all ranks in order.
std::vector<Rank> every_rank_of(int ranks);

/// Adds a group to a program and writes what all its members do alike. Members that share a list of
/// tasks must all be in the group. The program outlives it.
class GroupWriter {
public:
    GroupWriter(Program& program, std::vector<Rank> members);

    const std::vector<Rank>& members() const { return at(program_.groups, group_); }
    /// Adds a call to this group, replacing the group in `call`, and returns its index.
    int add_call(GroupCall call);
    /// These functions append to the tasks of every member.
    void compute(std::int64_t ns, Task::Phase phase);
    void start(int call, Task::Phase phase);
    void wait(int call, Task::Phase phase);
    void start_and_wait(int call, Task::Phase phase);

private:
    Program& program_;
    int group_;
    std::vector<Rank> writers_;  // a member of each role
};

/// Throws Error naming rank and task unless every rank starts each call of its groups once, waits
/// for it afterwards, and starts the calls of a group in the same order as its other members. Also
/// throws for roots outside of their groups, wrongly shared memory and negative times.
void check(const Program& program);

/// Returns the bytes that a rank passes to collectives in a step: its input or, if it has none (as
/// the receiver of a broadcast), its output. Takes the mean of calls that differ from step to step.
std::int64_t bytes_of_step(const Program& program, Rank rank);

/// Returns the bytes of collectives that have computing between their start and their wait. No more
/// can be hidden, however fast a collective is.
std::int64_t hideable_bytes_of_step(const Program& program, Rank rank);

/// Returns the computing time of a rank in step `step`.
std::int64_t compute_ns_of_step(const Program& program, Rank rank, std::int64_t step);

/// Returns the index of a rank in a group, or -1.
int place_in(const std::vector<Rank>& group, Rank rank);

}  // namespace tutti
