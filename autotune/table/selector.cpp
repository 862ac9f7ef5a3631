// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <stdexcept>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

// Measurements with host memory do not apply to device memory, and vice versa.
std::vector<BufferKind> as_good_as(BufferKind wanted) {
    using enum BufferKind;
    switch (wanted) {
        case registered:
            return {registered, mapped, unregistered};
        case mapped:
            return {mapped, registered, unregistered};
        case unregistered:
            return {unregistered, registered, mapped};
        case pinned:
            return {pinned, unregistered, registered, mapped};
        case device:
            return {device};
    }
    return {wanted};
}

// Returns the sections that answer a question about `wanted`, the best first.
std::vector<Subject> nearest(const Subject& wanted) {
    const bool adds_up = reduces(wanted.collective);
    std::vector<Subject> subjects;
    for (const BufferKind buffers : as_good_as(wanted.buffers))
        for (const TypeClass types : {wanted.types, adds_up ? TypeClass::native : wanted.types})
            for (const OpClass ops : {wanted.ops, adds_up ? OpClass::plain : wanted.ops})
                subjects.push_back({wanted.collective, types, ops, buffers});
    return subjects;
}

std::optional<std::int16_t> best_answer(const Subject& wanted, std::span<const Subject> known) {
    for (const Subject& subject : nearest(wanted))
        if (const auto found = std::ranges::find(known, subject); found != known.end())
            return static_cast<std::int16_t>(found - known.begin());
    return std::nullopt;
}

}  // namespace

Selector::Selector(const Table& table, const JobShape& job_shape) {
    if (all_collectives().size() > collectives)
        throw std::logic_error("Selector has less room than there are collectives");
    std::vector<Subject> known;
    for (const Section& section : table.sections)
        if (section.job_shape == job_shape && !section.ranges.empty()) {
            add(section);
            known.push_back(section.subject);
        }
    if (known.empty())
        throw Error(
            fmt::format("the table has no choices for {}; run: tutti tune", to_string(job_shape)));
    for (const Collective collective : all_collectives())
        for (const DataType type : all_data_types())
            for (const Op op : all_ops())
                for (const auto& buffers : NamesOf<BufferKind>::rows)
                    answers_[question(collective, type, op, buffers.value)] =
                        best_answer({collective, class_of(collective, type),
                                     class_of(collective, op), buffers.value},
                                    known)
                            .value_or(nothing);
}

void Selector::add(const Section& section) {
    const auto begin = static_cast<std::uint32_t>(ranges_.size());
    for (const Range& range : section.ranges) {
        ranges_.push_back(range);
        froms_.push_back(range.from.count);
    }
    const auto last = static_cast<std::uint32_t>(ranges_.size() - 1);
    ByWidth& by_width = sections_.emplace_back();
    by_width.fill(last);
    std::uint32_t range = begin;
    for (std::size_t width = 0; width < 64; ++width) {
        const std::int64_t smallest = width == 0 ? 0 : std::int64_t{1} << (width - 1);
        while (range < last && froms_[range + 1] <= smallest) ++range;
        by_width[width] = range;
    }
}

const Range* Selector::pick(Collective collective, DataType type, Op op, BufferKind buffers,
                            Bytes bytes) const noexcept {
    const std::int16_t answer = answers_[question(collective, type, op, buffers)];
    if (answer == nothing) return nullptr;
    const ByWidth& by_width = at(sections_, answer);
    const auto size = std::max<std::int64_t>(bytes.count, 0);
    const auto width = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size)));
    // Finds the last of these ranges that begins at or below the size.
    const auto first = froms_.begin() + by_width[width];
    const auto last = froms_.begin() + by_width[width + 1];
    const auto above = std::upper_bound(first + 1, last + 1, size);
    return &at(ranges_, above - froms_.begin() - 1);
}

}  // namespace tutti
