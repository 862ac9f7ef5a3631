// SPDX-License-Identifier: Apache-2.0
#include "workloads/check/check_data.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "collectives/schedule/collective_spec.hpp"
#include "workloads/check/check_number.hpp"
#include "workloads/check/check_values.hpp"

// Loops run once per element of messages of gigabytes: they handle only words of 1, 2, 4 or 8
// bytes; all that depends on type, operation and collective is in tables and constants.
namespace tutti {
namespace {

using namespace check_data;

// `length` neighbouring elements of `source`'s input, from `first` on; where shares are combined,
// the same elements of every rank's input.
struct Run {
    Rank source;
    std::int64_t first;
    std::int64_t length;
};

CollectiveSpec spec_of(const CheckCase& check) {
    return {check.collective, check.ranks, Rank{check.root}};
}

// Returns the layout of a rank's buffers in chunks of a block each, of elements of one byte.
Layout layout_in_elements(const CheckCase& check, Rank rank) {
    const CollectiveSpec spec = spec_of(check);
    const Call call{.collective = check.collective,
                    .type = DataType::int8,
                    .root = spec.root(),
                    .count = check.count,
                    .lengths = check.lengths};
    return {call, spec, rank, static_cast<int>(spec.blocks())};
}

// Returns the number of elements before a block in a rank's buffer.
std::int64_t elements_before(const CheckCase& check, Rank rank, BufferSide side,
                             std::int64_t place) {
    return static_cast<std::int64_t>(
        layout_in_elements(check, rank).offset_of(side, static_cast<int>(place)));
}

// Returns the pieces of a rank's result, in order.
std::vector<Run> result_runs(const CheckCase& check, Rank rank) {
    const CollectiveSpec spec = spec_of(check);
    std::vector<Run> runs;
    for (std::int64_t place = 0; place < spec.output_blocks(rank); ++place) {
        const std::int64_t block = spec.block_in_output(rank, place);
        const Rank source = spec.reduces() ? rank : spec.source_of(block);
        runs.push_back(
            {.source = source,
             .first = elements_before(check, source, BufferSide::input,
                                      spec.place_in_input(source, block)),
             .length = check.lengths == nullptr ? check.count : check.lengths->of(block)});
    }
    return runs;
}

template <class Visit>
auto with_word(DataType type, Visit visit) {
    return with_type(type,
                     [&]<class T>() { return visit.template operator()<WordOf<sizeof(T)>>(); });
}

template <class Word>
void fill_moved(const CheckCase& check, Rank rank, std::span<std::byte> input) {
    const Moved<Word> value(check, rank);
    const std::int64_t count = input_count(check, rank);
    for (std::int64_t i = 0; i < count; ++i) store_word(input, i, value(i));
}

// Shares repeat every P elements, so they are copied in tiles of whole periods, and then each tile
// gets the elements that this rank owns while it is still in the cache.
template <class Word>
void fill_shares(const CheckCase& check, Rank rank, std::span<std::byte> input) {
    const ReductionTable table = reduction_table(check.type, check.op, check.ranks);
    const Drawn<Word> owned(check, table.owned);

    std::vector<std::uint64_t> period(table.shares);  // now begins where this rank is the owner
    std::rotate(period.begin(), period.end() - rank.index, period.end());
    std::vector<Word> tile;
    while (tile.size() < 1024) tile.insert(tile.end(), period.begin(), period.end());

    const std::int64_t count = input_count(check, rank);
    const auto tile_length = static_cast<std::int64_t>(tile.size());
    for (std::int64_t start = 0; start < count; start += tile_length) {
        const std::int64_t end = std::min(count, start + tile_length);
        std::memcpy(input.data() + start * std::int64_t{sizeof(Word)}, tile.data(),
                    static_cast<std::size_t>(end - start) * sizeof(Word));
        for (std::int64_t i = start + rank.index; i < end; i += check.ranks)
            store_word(input, i, owned(i));
    }
}

/// Calls `visit(run, expected)` for each run of the result, in order; `expected(position)` gives
/// the right word at a position of the source's input.
template <class Word, class Visit>
void for_each_run(const CheckCase& check, Rank rank, Visit visit) {
    const std::vector<Run> runs = result_runs(check, rank);
    if (runs.empty()) return;
    if (is_prefix(check.collective)) {
        const PrefixOf<Word> expected(check, spec_of(check).summands(rank));
        for (const Run& run : runs) visit(run, expected);
    } else if (reduces(check.collective)) {
        const auto table = reduction_table(check.type, check.op, check.ranks);
        const Drawn<Word> expected(check, table.results);
        for (const Run& run : runs) visit(run, expected);
    } else {
        for (const Run& run : runs) visit(run, Moved<Word>(check, run.source));
    }
}

template <class Word>
std::int64_t count_wrong_words(const CheckCase& check, Rank rank,
                               std::span<const std::byte> result) {
    std::int64_t wrong = 0;
    std::int64_t begin = 0;
    for_each_run<Word>(check, rank, [&](const Run& run, const auto& expected) {
        for (std::int64_t i = 0; i < run.length; ++i)
            wrong += load_word<Word>(result, begin + i) != expected(run.first + i);
        begin += run.length;
    });
    return wrong;
}

// Used by assertions only.
[[maybe_unused]] bool holds(std::span<const std::byte> memory, std::int64_t count, DataType type) {
    return memory.size() == static_cast<std::size_t>(count) * size_of(type);
}

}  // namespace

std::int64_t input_count(const CheckCase& check, Rank rank) {
    return elements_before(check, rank, BufferSide::input, spec_of(check).input_blocks(rank));
}

std::int64_t result_count(const CheckCase& check, Rank rank) {
    return elements_before(check, rank, BufferSide::output, spec_of(check).output_blocks(rank));
}

void fill_input(const CheckCase& check, Rank rank, std::span<std::byte> input) {
    assert(holds(input, input_count(check, rank), check.type) &&
           "the buffer has the size asked for");
    with_word(check.type, [&]<class Word>() {
        if (reduces(check.collective))
            fill_shares<Word>(check, rank, input);
        else
            fill_moved<Word>(check, rank, input);
    });
}

void poison(std::span<std::byte> result) {
    std::fill(result.begin(), result.end(), std::byte{check_data::poison_byte});
}

std::int64_t count_wrong(const CheckCase& check, Rank rank, std::span<const std::byte> result) {
    assert(holds(result, result_count(check, rank), check.type) &&
           "the buffer has the size asked for");
    return with_word(check.type,
                     [&]<class Word>() { return count_wrong_words<Word>(check, rank, result); });
}

}  // namespace tutti
