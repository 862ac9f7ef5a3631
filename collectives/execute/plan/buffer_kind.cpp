// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/buffer_kind.hpp"

#include "base/name_table.hpp"

namespace tutti {
namespace {

constexpr Named<BufferKind> kind_names[] = {
    {BufferKind::registered, "registered"},
    {BufferKind::unregistered, "unregistered"},
    {BufferKind::device, "device"},
    {BufferKind::pinned, "pinned"},
};

}  // namespace

std::string_view name_of(BufferKind kind) { return name_in(kind_names, kind); }

BufferKind parse_buffer_kind(std::string_view name) {
    if (name == "ordinary") return BufferKind::unregistered;  // as older files and commands have it
    return parse_from(kind_names, "buffers", name);
}

}  // namespace tutti
