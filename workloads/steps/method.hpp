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

/// What compression did on this rank since the tally was last reset.
struct CompressionTally {
    std::int64_t ns = 0;      ///< spent encoding, merging and decoding
    double plain_bytes = 0;   ///< the least that the rank would send uncompressed
    double sent_bytes = 0;    ///< the least that it sends compressed
    double union_share = -1;  ///< topk, of the latest call: elements that any rank sent; else -1
};

/// The result of making something, or the reason why it was not made. Where making it is
/// collective, both are the same on all ranks.
template <class Made>
struct MadeOrRefused {
    std::unique_ptr<Made> made;
    std::string refusal = {};  ///< where nothing was made
};

/// The collectives of one group of ranks by one method.
class GroupMethod {
public:
    virtual ~GroupMethod() = default;
    /// Whether it has an implementation of its own for this collective; else it uses a ring.
    virtual bool is_for(Collective collective) const {
        (void)collective;
        return true;
    }
    /// Whether the result is exact but for the rounding of additions; else it is approximate.
    virtual bool is_exact(const Call& call) const {
        (void)call;
        return true;
    }
    /// What compression did; null where nothing is compressed.
    virtual CompressionTally* tally() { return nullptr; }
    /// Whether starting a call blocks until it is done.
    virtual bool blocks() const { return false; }
    /// Why it cannot do this call on such buffers (see refusal); nothing if it can. Collective.
    virtual std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) = 0;
    /// Collective; the call is not refused.
    virtual std::unique_ptr<Operation> operation(const Call& call,
                                                 const PooledBuffers& buffers) = 0;
    /// Whether its order of addition gives all ranks the same bits; nothing where that order is not
    /// known. The call is not refused.
    virtual std::optional<bool> same_bits(const Call& call) {
        (void)call;
        return std::nullopt;
    }
};

/// A method of communication for a step: of_group makes its collectives for a group's ranks. The
/// result must not outlive planner and environment. Collective over the group.
struct Method {
    std::string name;
    std::function<std::unique_ptr<GroupMethod>(Planner& group, const Environment& environment)>
        of_group;
    std::string transport = {};  ///< of all its plans; empty: a library's, or not known before
};

/// The refusal of the first rank that has one; the same on all ranks. Collective.
std::optional<std::string> first_refusal(World& world, const std::optional<std::string>& mine);

/// What candidates of these ranks share: their number, hosts and default segment.
Environment environment_of(World& world);

/// A method for each algorithm and transport of a search space and for each of its libraries. It
/// does all collectives so; those without an algorithm of this name by a ring. "all" algorithms are
/// those of all collectives. Throws Error for unknown names.
std::vector<Method> methods_named(const SearchSpace& search_space);

}  // namespace tutti
