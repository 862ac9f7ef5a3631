// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/execute/plan/buffer_kind.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "topology/placement/placement.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The properties of a call that determine its route.
struct RoutedCall {
    Call call;
    BufferKind buffers = BufferKind::registered;  ///< on all ranks
    Placement hosts;                              ///< ranks by host
    bool in_place = false;
    bool oversubscribed = false;  ///< ranks of a host share cores

    int ranks() const;
};

}  // namespace tutti
#pragma GCC visibility pop
