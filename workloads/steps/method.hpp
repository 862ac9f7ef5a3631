// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/bench/trials.hpp"

namespace tutti {

struct CompressionTally;

/// How the ranks of one group do their collectives.
class GroupMethod {
public:
    virtual ~GroupMethod() = default;
    /// Whether it has something of its own for this collective; else it does it as others do.
    virtual bool is_for(Collective collective) const {
        (void)collective;
        return true;
    }
    /// Whether the result is that of the additions alone; else it is only near.
    virtual bool is_exact(const Call& call) const {
        (void)call;
        return true;
    }
    /// What it did to gradients on the way; null where nothing.
    virtual CompressionTally* tally() { return nullptr; }
    /// Whether starting a call takes until it is done.
    virtual bool blocks() const { return false; }
    /// Why they cannot do this call so on such buffers (see refusal); nothing if they can.
    /// Collective.
    virtual std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) = 0;
    /// Collective; the call is not refused.
    virtual std::unique_ptr<Operation> operation(const Call& call,
                                                 const PooledBuffers& buffers) = 0;
    /// Whether every rank's result is the same bit for bit, as its order of addition tells; nothing
    /// where that order is not known. The call is not refused.
    virtual std::optional<bool> same_bits(const Call& call) {
        (void)call;
        return std::nullopt;
    }
};

/// A way to do the collectives of a step, in each of its groups by what fits that group. What it
/// gives lives no longer than planner and environment. Collective over the group.
struct Method {
    std::string name;
    std::function<std::unique_ptr<GroupMethod>(Planner& group, const Environment& environment)>
        of_group;
    std::string transport = {};  ///< of all its plans; empty: a library's, or not known before
};

/// For each algorithm and transport of a search_space, and for each of its libraries, the way that
/// does all collectives by it; those that have no algorithm of this name, by a ring. "all"
/// algorithms are those of all collectives. Throws Error for unknown names.
std::vector<Method> ways_named(const SearchSpace& search_space);

}  // namespace tutti
