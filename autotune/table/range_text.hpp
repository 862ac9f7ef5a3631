// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/table/table.hpp"

namespace tutti {

/// A choice in few letters: "chain/shm s64K r4 c2", for a segment of 64K, radix 4 and 2 channels.
std::string short_text(const Configuration& choice);

/// "1.23 us [1.20, 1.31]"; "~1.23 us" for a time that a model predicts.
std::string to_string(const TimeInterval& time);

/// "1.52 [1.40, 1.61] mpi".
std::string gain_text(const HoldOut& hold_out);

/// The comparison of a range's choice: with the library's default; of a default that was kept,
/// with what challenged it. None where there was none.
std::optional<HoldOut> gain_of(const Range& range, const RangeEvidence& seen);

/// What is shown of a range: the evidence in its middle, of that with a comparison with the library
/// if there is any; null if there is no evidence.
const RangeEvidence* typical_evidence(const Range& range);

/// "ring/shm +12%", with how much slower it was; empty where there is none.
std::string runner_up_text(const RangeEvidence& evidence);

/// "2 ring/shm, 1 tree/shm": how many launches chose what, where they differ; else empty.
std::string votes_text(const RangeEvidence& evidence);

/// "ends early" and the like: what is to be said of a section beside its subject; empty if nothing.
std::string remark_on(const Section& section);

}  // namespace tutti
