// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tutti {

/// Whether a call finds its input in whatever caches the call before left it, or just written by
/// its owner, as gradients are in training.
enum class InputState { untouched, rewritten };

}  // namespace tutti
