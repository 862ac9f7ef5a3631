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
    /// Takes the sections of `job_shape`. Throws Error if there is none: use `adapted`
    /// (autotune/table/adapt.hpp) first.
    Selector(const Table& table, const JobShape& job_shape);

    /// The range that holds calls of `bytes` (as total_bytes counts them), or null: the table knows
    /// nothing of such calls. Where it lacks their class the nearest is taken: plain for averages,
    /// native for half, and only then another kind of buffers of the host. Valid as long as the
    /// selector. Two look-ups, and a comparison for each range that begins at a size of as many
    /// bits.
    const Range* pick(Collective collective, DataType type, Op op, BufferKind buffers,
                      Bytes bytes) const noexcept;

private:
    static constexpr std::size_t collectives = 8, types = 14, ops = 5;
    static constexpr std::size_t kinds_of_buffers = std::size(NamesOf<BufferKind>::rows);
    static_assert(types == static_cast<std::size_t>(DataType::float64) + 1);
    static_assert(ops == static_cast<std::size_t>(Op::avg) + 1);
    static_assert(collectives == static_cast<std::size_t>(Collective::all_to_all) + 1);
    static constexpr std::int16_t nothing = -1;

    // Where among all ranges a section's are: for each bit width the range that holds the smallest
    // size of this width, and behind them the last range.
    using ByWidth = std::array<std::uint32_t, 65>;

    static std::size_t question(Collective collective, DataType type, Op op, BufferKind buffers) {
        std::size_t number = static_cast<std::size_t>(collective);
        number = number * types + static_cast<std::size_t>(type);
        number = number * ops + static_cast<std::size_t>(op);
        return number * kinds_of_buffers + static_cast<std::size_t>(buffers);
    }

    void add(const Section& section);

    std::vector<Range> ranges_;        // of all sections, one behind the other
    std::vector<std::int64_t> froms_;  // of these, apart, so that few cache lines are touched
    std::vector<ByWidth> sections_;
    std::array<std::int16_t, collectives * types * ops * kinds_of_buffers> answers_;
};

}  // namespace tutti
