// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace tutti {

/// Where the buffers of a call lie. `registered`: memory that the peers can load and store;
/// `unregistered`: each rank's own heap; `device`: memory of a device, which the peers' devices can
/// load and store where they can do that at all; `pinned`: a rank's own memory on the host, which
/// its device copies from and to without staging.
enum class BufferKind { registered, unregistered, device, pinned };

std::string_view name_of(BufferKind kind);
/// Throws Error with the known names.
BufferKind parse_buffer_kind(std::string_view name);

}  // namespace tutti
