// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/bench/candidates.hpp"

namespace tutti {

/// Statistics of compression on this rank since the last reset.
struct CompressionTally {
    std::int64_t ns = 0;      ///< spent encoding, merging and decoding
    double plain_bytes = 0;   ///< least bytes that the rank would send uncompressed
    double sent_bytes = 0;    ///< least bytes that it sends compressed
    double union_share = -1;  ///< topk, latest call: elements that any rank sent; else -1
};

/// An object, or the reason why it was not made. If making it is collective, both are the same on
/// all ranks.
template <class Made>
struct MadeOrRefused {
    std::unique_ptr<Made> made;
    std::string refusal = {};  ///< if nothing was made
};

/// The collectives of one group of ranks with one method.
class GroupMethod {
public:
    virtual ~GroupMethod() = default;
    /// Returns whether it implements this collective itself; otherwise another algorithm is used.
    virtual bool is_for(Collective collective) const {
        (void)collective;
        return true;
    }
    /// Returns whether the result is exact except for rounding; otherwise it is approximate.
    virtual bool is_exact(const Call& call) const {
        (void)call;
        return true;
    }
    /// Returns the statistics of compression; null if nothing is compressed.
    virtual CompressionTally* tally() { return nullptr; }
    /// Returns whether starting a call blocks until it is done.
    virtual bool blocks() const { return false; }
    /// Returns why it cannot do this call on such buffers (see refusal); none if it can.
    /// Collective.
    virtual std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) = 0;
    /// Collective; the call is not refused.
    virtual std::unique_ptr<Operation> operation(const Call& call,
                                                 const PooledBuffers& buffers) = 0;
    /// Returns whether its order of addition gives all ranks the same bits; none if that order is
    /// not known. The call must not be refused.
    virtual std::optional<bool> same_bits(const Call& call) {
        (void)call;
        return std::nullopt;
    }
};

/// A communication method for a step: of_group makes its collectives for a group's ranks. The
/// result must not outlive planner and environment. Collective over the group.
struct Method {
    std::string name;
    std::function<std::unique_ptr<GroupMethod>(Planner& group, const Environment& environment)>
        of_group;
    std::string transport = {};  ///< of all its plans; empty: a library's, or not known before
};

/// Returns the refusal of the first rank that has one; the same on all ranks. Collective.
std::optional<std::string> first_refusal(World& world, const std::optional<std::string>& mine);

/// Returns a method for each algorithm and transport of a search space and for each of its
/// libraries. It does all collectives that way; those without an algorithm of this name use a ring,
/// and collectives without a ring their first algorithm. A library without a barrier uses tutti's.
/// "all" selects the algorithms of all collectives. Throws Error for unknown names.
std::vector<Method> methods_named(const SearchSpace& search_space);

}  // namespace tutti
