// SPDX-License-Identifier: Apache-2.0
#include "results/records/numerics.hpp"

#include <fmt/format.h>

#include "base/hashes.hpp"

namespace tutti {
namespace {

std::string_view yes_or_no(bool holds) { return holds ? "same" : "DIFFER"; }

std::string error_cell(const std::optional<double>& ulp) {
    return ulp ? fmt::format("{:.4g}", *ulp) : "no number";
}

std::string row_of(const Numerics& row) {
    const Key& key = row.key;
    std::string text = fmt::format("{:>12}  {:>12}  {:>8}  {:<28}  {:<10}  {:>6}", key.bytes.count,
                                   key.count, name_of(key.dtype), candidate_name(key),
                                   key.configuration.transport, key.inplace ? "in" : "out");
    std::string ranks = "-";
    bool runs = true;
    std::uint64_t checksum = fnv1a_start;
    for (const NumericsOfDraw& one : row.of) {
        text += fmt::format("  {:>10}", error_cell(one.max_ulp));
        if (one.ranks_agree && ranks != yes_or_no(false)) ranks = yes_or_no(*one.ranks_agree);
        runs = runs && one.runs_agree;
        checksum = fnv1a(std::as_bytes(std::span(one.checksum)), checksum);
    }
    return fmt::format("{}  {:>6}  {:>6}  {:016x}\n", text, ranks, yes_or_no(runs), checksum);
}

}  // namespace

std::string numerics_table(std::span<const Numerics> rows) {
    if (rows.empty()) return {};
    std::string text =
        "#\n# accuracy: largest error of a sum in ULP of the exact sum, for numbers from [0, 1] "
        "(uniform), from [-1, 1]\n# (cancelling) and with wide exponents (wide). ranks, runs: "
        "whether all ranks, and two successive calls, get the same\n# bits. checksum: of these "
        "bits, to compare launches\n";
    text += fmt::format("# {:>10}  {:>12}  {:>8}  {:<28}  {:<10}  {:>6}", "size", "count", "type",
                        "algorithm", "transport", "place");
    for (const auto& draw : NamesOf<Draw>::rows) text += fmt::format("  {:>10}", draw.name);
    text += fmt::format("  {:>6}  {:>6}  {}\n", "ranks", "runs", "checksum");
    for (const Numerics& row : rows) text += row_of(row);
    return text;
}

}  // namespace tutti
