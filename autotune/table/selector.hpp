// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "autotune/table/table.hpp"

namespace tutti {

/// A table's answers for these ranks, to be asked before every call: constant time, no allocation.
class Selector {
public:
    /// Takes the sections of `job_shape`. Throws Error if there is none: use `adapted`
    /// (autotune/table/adapt.hpp) first.
    Selector(const Table& table, const JobShape& job_shape);

    /// Returns the range for calls of `bytes` (as total_bytes counts them), or null if the table
    /// has no answer. If their class is missing takes the nearest: plain for averages, native for
    /// half, and only then another kind of host buffers. Valid as long as the selector. Takes two
    /// look-ups, and a comparison for each range that begins at a size with the same number of
    /// bits.
    const Range* pick(Collective collective, DataType type, Op op, BufferKind buffers,
                      Bytes bytes) const noexcept;

private:
    static constexpr std::size_t collectives = 12;  // and room for new ones
    static constexpr std::size_t types = 14, ops = 5;
    static constexpr std::size_t kinds_of_buffers = std::size(NamesOf<BufferKind>::rows);
    static_assert(types == static_cast<std::size_t>(DataType::float64) + 1);
    static_assert(ops == static_cast<std::size_t>(Op::avg) + 1);
    static constexpr std::int16_t nothing = -1;

    // Indexes a section's ranges by bit width: for each width the range that contains the smallest
    // size of this width, then the last range.
    using ByWidth = std::array<std::uint32_t, 65>;

    static std::size_t question(Collective collective, DataType type, Op op, BufferKind buffers) {
        std::size_t number = static_cast<std::size_t>(collective);
        number = number * types + static_cast<std::size_t>(type);
        number = number * ops + static_cast<std::size_t>(op);
        return number * kinds_of_buffers + static_cast<std::size_t>(buffers);
    }

    void add(const Section& section);

    std::vector<Range> ranges_;  // ranges of all sections, concatenated
    // Starts of the ranges in a separate array, so that few cache lines are read
    std::vector<std::int64_t> froms_;
    std::vector<ByWidth> sections_;
    std::array<std::int16_t, collectives * types * ops * kinds_of_buffers> answers_;
};

}  // namespace tutti
