// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "autotune/table/table.hpp"

namespace tutti {

/// A table's answers for the ranks at hand, to be asked before every call: constant time, no
/// memory.
class Selector {
public:
    /// Takes the sections of `setting`. Throws Error if there is none: use `fitted` (merge.hpp)
    /// first.
    Selector(const Table& table, const Setting& setting);

    /// The range that holds calls of `bytes` (as total_bytes counts them), or null: the table knows
    /// nothing of such calls. Takes the nearest class of types and operations that there is.
    const Range* pick(Collective collective, DataType type, Op op, BufferKind buffers,
                      Bytes bytes) const;
};

}  // namespace tutti
