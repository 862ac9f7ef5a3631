// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/types.hpp"
#include "base/units.hpp"

namespace tutti {

/// What was measured. Two points are about the same thing if and only if their keys are equal.
struct Key {
    Collective coll = Collective::all_reduce;
    std::string impl = "tutti";  // or the baseline's name: mpi, nccl
    std::string algo;            // kebab-case name from the catalog
    std::string transport;
    DataType dtype = DataType::float32;
    std::optional<Op> op;      // none where nothing is added up
    std::optional<Rank> root;  // none where all ranks play the same part
    std::int64_t count = 0;    // elements, as nccl-tests counts them
    Bytes bytes;               // nccl-tests' size, see results/bandwidth.hpp
    bool inplace = false;
    std::string buf = "host";  // whose memory: host, registered, pinned, cuda, managed
    int nranks = 1;
    int ppn = 1;            // ranks on each host
    Bytes segment;          // 0: not pipelined
    std::string placement;  // empty: as the launcher placed the ranks
    std::string input;      // rewritten before each call; empty: as the call before left it
    std::string order;      // of the ranks: topology or a file's name; empty: the launcher's
    int radix = 0;          // of algorithms that take one; 0: the usual one
    int channels = 1;       // equal shares of the message at the same time

    bool operator==(const Key&) const = default;
};

/// How a placement begins where several ranks share a GPU: their times say nothing of links between
/// GPUs.
inline constexpr std::string_view virtual_ranks = "virtual ranks";
inline bool is_virtual(const auto& key) { return key.placement.starts_with(virtual_ranks); }

/// 16 hex digits, the same on every machine: the head of SHA-256 over the key's JSON text.
std::string point_id(const Key& key);

/// An algorithm of ours with what is not usual about it: segment (if not 0), radix (if not 0),
/// channels (if several), the order of ranks: "ring", "chain[64K]", "tree[k4]",
/// "ring[x2]@topology".
std::string variant_name(const std::string& algorithm, Bytes segment, int radix, int channels,
                         const std::string& order);

/// Whether a name tells the segment of a pipelined algorithm: only where it is not the usual one of
/// these hosts, which a key cannot know.
enum class SegmentInName { left_out, told };

/// How tables call who ran: as variant_name for our own, "mpi" or "mpi/ALGO" for a baseline.
std::string candidate_name(const Key& key, SegmentInName segment = SegmentInName::left_out);

}  // namespace tutti
