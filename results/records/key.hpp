// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/configuration.hpp"
#include "base/index.hpp"
#include "base/types.hpp"
#include "base/units.hpp"

namespace tutti {

/// Identifies a measurement. Two points repeat each other if and only if their keys are equal.
struct Key {
    Collective coll = Collective::all_reduce;
    Configuration configuration;  // with the segment that was taken, if it pipelines
    DataType dtype = DataType::float32;
    std::optional<Op> op;      // none where nothing is added up
    std::optional<Rank> root;  // none where all ranks play the same part
    std::int64_t count = 0;    // elements, as nccl-tests counts them
    Bytes bytes;               // nccl-tests' size, see results/statistics/bandwidth.hpp
    bool inplace = false;
    std::string buf = "host";  // whose memory: host, registered, mapped, pinned, cuda, managed
    int nranks = 1;
    int ppn = 1;            // ranks on each host
    std::string placement;  // empty: as the launcher placed the ranks
    std::string input;      // rewritten before each call; empty: as the call before left it
    std::string blocks;     // rule for the lengths of blocks ("skewed"); empty: all are equal
    std::string aggressor;  // load next to the ranks ("memory:2"); empty: there is none

    auto operator<=>(const Key&) const = default;
};

/// How a placement begins where several ranks share a GPU: their times say nothing of links between
/// GPUs.
inline constexpr std::string_view virtual_ranks = "virtual ranks";
inline bool is_virtual(const auto& key) { return key.placement.starts_with(virtual_ranks); }

/// 16 hex digits, the same on every machine: the head of SHA-256 over the key's JSON text.
std::string point_id(const Key& key);

/// Whether a name shows the segment of one of tutti's pipelined algorithms: only where one was
/// asked for, which a key cannot know.
enum class SegmentInName { hidden, shown };

/// Returns the name in tables: that of variant_name, or "mpi" or "mpi/chain[32K]" for a baseline.
std::string candidate_name(const Key& key, SegmentInName segment = SegmentInName::hidden);

/// candidate_name with the transport: "ring (shm)".
std::string candidate_in_words(const Key& key);

/// Returns the collective as commands name it: "all_gather", or "all_gather_v" if the blocks have
/// lengths of their own.
std::string name_of_collective(const Key& key);

/// "all_reduce 4K float sum registered": what tells a call from others of a sweep.
std::string call_in_words(const Key& key);

}  // namespace tutti
