// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

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
    std::string buf = "host";  // whose memory: host, registered, cuda, managed
    int nranks = 1;
    int ppn = 1;            // ranks on each host
    Bytes segment;          // 0: not pipelined
    std::string placement;  // empty: as the launcher placed the ranks
    std::string input;      // rewritten before each call; empty: as the call before left it
    std::string order;      // of the ranks: topology or a file's name; empty: the launcher's

    bool operator==(const Key&) const = default;
};

/// 16 hex digits, the same on every machine: the head of SHA-256 over the key's JSON text.
std::string point_id(const Key& key);

/// How tables and plots call who ran: "ring" for our own (or
/// "ring@topology", if the ranks were put in an order), "mpi" or "mpi/ALGO" for a baseline.
std::string candidate_name(const Key& key);

}  // namespace tutti
