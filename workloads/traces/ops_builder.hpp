// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/index.hpp"
#include "workloads/traces/trace.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {

/// Counts what cannot be replayed, by the reason.
class LeftOut {
public:
    void add(const std::string& what) { ++counts_[what]; }
    /// Returns "left out: 3 calls of 'x', 1 call of 'y'"; empty if there is nothing.
    std::string in_words() const;

private:
    std::map<std::string, int> counts_;
};

/// Returns what a call is. Counts calls whose name or type cannot be replayed and returns none.
std::optional<OpName> replayable(const std::string& name, const std::string& type,
                                 LeftOut& left_out);

/// Collects the actions of ranks.
class OpsBuilder {
public:
    explicit OpsBuilder(int ranks) {
        trace_.groups.push_back(every_rank_of(ranks));
        trace_.ranks.resize(as_size(ranks));
    }

    const std::vector<Rank>& group(int index) const { return at(trace_.groups, index); }
    int ranks() const { return int_size(trace_.ranks); }

    /// Returns the group of these ranks, and adds it if needed. Throws Error at the place `of` for
    /// ranks that do not exist.
    int group_of(const std::vector<std::int64_t>& ranks, const Fields& of);

    /// Adds an action. `launch_ns` is the time since the step began; the time since the previous
    /// launch was computing.
    void add(Rank rank, TraceOp op, std::optional<std::int64_t> launch_ns = {});

    /// Gives the actions of the recorded rank to all ranks. What only that rank can do is left out:
    /// calls of a part of the ranks, sends and receives. Uneven parts become even ones.
    void repeat_on_all(Rank recorded, LeftOut& left_out);

    /// Some versions of PyTorch record each rank's own number in place of the root. Gives such
    /// calls the group's first rank as root and returns how many there are.
    int settle_roots();

    OpsTrace done() { return std::move(trace_); }

private:
    OpsTrace trace_;
    std::vector<std::int64_t> clock_ns_;
};

/// Adds a part to a note, after "; " if the note has others.
inline void add_note(std::string& note, const std::string& part) {
    if (!part.empty()) note += (note.empty() ? "" : "; ") + part;
}

/// Reads a rank of the whole trace. Throws Error at the place `of`.
Rank rank_of(const Fields& of, const char* name, int ranks);

/// Adds the place to errors of `read`, such as an unknown "dtype".
template <class Read>
auto with_place(const Fields& of, Read&& read) {
    try {
        return read();
    } catch (const Error& error) {
        of.refuse(error.what());
    }
}

/// A call in the form of PyTorch's recorders: elements of a rank's whole input and output.
struct ImportedCall {
    OpName what;
    Rank rank;
    std::string type = "float32";
    std::int64_t input = 0, output = 0;
    std::vector<std::int64_t> sends, receives;
    std::vector<std::int64_t> group;    ///< ranks of the whole trace; empty: all
    std::int64_t root = -1, peer = -1;  ///< ranks of the whole trace; root -1: the group's first
};

/// Converts counts to those of Call. Throws Error naming the place of `of`.
TraceOp op_of(const ImportedCall& call, OpsBuilder& builder, const Fields& of);

}  // namespace tutti
