// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives a table or a one-line error with file and line. A table can be written,
// read again, merged, queried, fitted, explained and drawn.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/table/adapt.hpp"
#include "autotune/table/explain.hpp"
#include "autotune/table/selector.hpp"
#include "autotune/table/table.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/usable.hpp"
#include "tests/fuzz/demand.hpp"

namespace {

using namespace tutti;

void merge(const Table& table) {
    const Table once = merged(std::vector{table});
    demand(merged(std::vector{table, table}) == once, "a table with itself is itself");
    demand(merged(std::vector{once, table}) == once, "merging once more changes nothing");
    demand(once.sections.size() == table.sections.size(), "no section is lost");
}

void select(const Table& table) {
    for (const Section& section : table.sections) {
        const Selector selector(table, section.job_shape);
        const Subject& subject = section.subject;
        const DataType type = subject.types == TypeClass::half ? DataType::half : DataType::float32;
        const Op op = subject.ops == OpClass::average ? Op::avg : Op::sum;
        for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{100'000},
                                        std::numeric_limits<std::int64_t>::max()}) {
            const Range* range =
                selector.pick(subject.collective, type, op, subject.buffers, {size});
            demand(range != nullptr && *range == range_at(section, {size}), "the range is found");
        }
    }
}

// Replaces a cost model: the cost grows with the size and differs between choices.
std::optional<double> predict(const Configuration& choice, const Subject&,
                              const JobShape& job_shape, Bytes size) {
    if (!choice.is_ours()) return std::nullopt;
    const auto latency = static_cast<double>(1 + choice.algorithm.size());
    return latency * job_shape.ranks + static_cast<double>(size.count) / latency;
}

void fit(const Table& table) {
    // Placements of millions of ranks would need too much memory.
    constexpr int enough = 512;
    constexpr std::size_t few = 8;
    if (table.sections.empty() || table.sections.size() > few) return;
    JobShape job_shape = table.sections.front().job_shape;
    if (job_shape.ranks > enough) return;
    for (const int more : {0, 1}) {
        job_shape.ranks += more;
        const Table fit = adapted(table, job_shape, predict, {.anyway = true});
        for (const Section& section : fit.sections)
            demand(section.job_shape == job_shape, "fitted to the ranks");
        demand(parse_table(to_json(fit), "fitted") == fit, "what is fitted can be kept");
        if (!fit.sections.empty()) select(fit);
        parse_table(to_json(usable(fit)), "usable");
    }
}

void use(const Table& table) {
    demand(parse_table(to_json(table), "json") == table, "JSON brings back the table");
    merge(table);
    select(table);
    fit(table);
    explain(table);
    to_picture_json(table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Table table;
    try {
        table = parse_table(text_of(data, size), "FILE");
    } catch (const Error& error) {
        demand_place(error, "FILE");
        return 0;
    }
    use(table);
    return 0;
}
