// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/name_table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The memory that holds the buffers of a call. `registered`: memory that the peers can load and
/// store; `unregistered`: each rank's own heap; `mapped`: a heap that the peers can map
/// (libtutti_heap.so); `device`: memory of a device, which the peers' devices can load and store if
/// they support that; `pinned`: a rank's own memory on the host, which its device copies from and
/// to without staging.
enum class BufferKind { registered, unregistered, mapped, device, pinned };
template <>
struct NamesOf<BufferKind> {
    static constexpr const char* kind = "buffers";
    static constexpr Named<BufferKind> rows[] = {{BufferKind::registered, "registered"},
                                                 {BufferKind::unregistered, "unregistered"},
                                                 {BufferKind::mapped, "mapped"},
                                                 {BufferKind::device, "device"},
                                                 {BufferKind::pinned, "pinned"}};
};
/// Accepts "ordinary", the former name of `unregistered`, from older files and commands.
inline void parse_name(std::string_view name, BufferKind& kind) {
    kind = name == "ordinary" ? BufferKind::unregistered : parse_as<BufferKind>(name);
}

}  // namespace tutti
#pragma GCC visibility pop
