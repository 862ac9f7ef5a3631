// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table_in_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

std::string source_in_words(const Table& table, const std::string& file,
                            std::span<const BufferKind> buffers) {
    const auto is_of_host = [](BufferKind kind) { return kind != BufferKind::device; };
    const bool asks = buffers.empty() || std::ranges::any_of(buffers, is_of_host);
    const bool knows = std::ranges::any_of(table.sections, [&](const Section& section) {
        return is_of_host(section.subject.buffers);
    });
    if (asks && !knows)
        return fmt::format("by built-in rules, as {} has nothing for buffers of the host", file);
    return "by " + file;
}

}  // namespace tutti
