// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "autotune/table/table.hpp"

namespace tutti {

/// What "auto" goes by in such buffers (none: of the host): "by t.json"; "by built-in rules, as
/// t.json has nothing for buffers of the host" where all sections are of devices.
std::string source_in_words(const Table& table, const std::string& file,
                            std::span<const BufferKind> buffers);

}  // namespace tutti
