// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"

namespace tutti {

/// A choice for all sizes from `from` to below `end`.
struct SizesOfChoice {
    Bytes from, end;
    Configuration choice;
};

/// The measured choices of a collective on some ranks, for ascending sizes without gaps: from half
/// of the smallest measured size to twice the largest.
struct MeasuredChoices {
    Collective collective = Collective::all_reduce;
    JobShape job_shape;
    BufferKind buffers = BufferKind::unregistered;
    std::vector<SizesOfChoice> sizes;
};

/// Restricts a table to the sections that a foreign library can use.
struct ExportedPart {
    std::string topology;               ///< beginning of the fingerprint; empty: any
    std::optional<BufferKind> buffers;  ///< nullopt: memory of ordinary programs
    bool on_devices = false;            ///< the library's buffers are on devices
};

/// Returns one entry for each collective and number of ranks, ascending. A library does not know
/// types and classes of memory, so it gets the section for the most common ones. Throws Error if
/// the table has no such section, or several for the same ranks on different topologies.
std::vector<MeasuredChoices> measured_choices(const Table& table, const ExportedPart& part);

}  // namespace tutti
