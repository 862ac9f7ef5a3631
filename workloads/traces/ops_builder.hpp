// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <utility>

#include "base/index.hpp"
#include "workloads/traces/json_fields.hpp"
#include "workloads/traces/trace.hpp"
#include "workloads/traces/trace_words.hpp"

namespace tutti {

/// Collects what ranks did.
class OpsBuilder {
public:
    explicit OpsBuilder(int ranks) {
        trace_.groups.push_back(every_rank_of(ranks));
        trace_.ranks.resize(as_size(ranks));
    }

    const std::vector<Rank>& group(int index) const { return at(trace_.groups, index); }
    int ranks() const { return int_size(trace_.ranks); }

    /// The group of these ranks, made if there is none. Throws Error, with the place `of`, for
    /// ranks that do not exist.
    int group_of(const std::vector<std::int64_t>& ranks, const Fields& of);

    /// `launch_ns` is the time since the step began: the time since the launch before it was
    /// computing.
    void add(Rank rank, TraceOp op, std::optional<std::int64_t> launch_ns = {});

    OpsTrace done() { return std::move(trace_); }

private:
    OpsTrace trace_;
    std::vector<std::int64_t> clock_ns_;
};

/// Reads a rank of all. Throws Error, with the place `of`.
Rank rank_of(const Fields& of, const char* name, int ranks);

/// Adds the place to the error of what `read` finds unknown: "dtype" and the like.
template <class Read>
auto with_place(const Fields& of, Read&& read) {
    try {
        return read();
    } catch (const Error& error) {
        of.refuse(error.what());
    }
}

/// A call as PyTorch's recorders write it: elements of a rank's whole input and output.
struct ImportedCall {
    OpName what;
    Rank rank;
    std::string type = "float32";
    std::int64_t input = 0, output = 0;
    std::vector<std::int64_t> sends, receives;
    std::vector<std::int64_t> group;    ///< ranks of all; none: all
    std::int64_t root = -1, peer = -1;  ///< ranks of all; root -1: the group's first
};

/// Counted as our collectives count. Throws Error naming the place of `of`.
TraceOp op_of(const ImportedCall& call, OpsBuilder& builder, const Fields& of);

}  // namespace tutti
