// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/models/model.hpp"

namespace tutti {

/// The model with `factor` times the elements, about, so that it fits into memory: the same
/// tensors in the same order and proportions, none empty; so the flops, the buffers, and a
/// transformer's tokens and a table's row, of which activations are made. 1 changes nothing.
/// Throws Error unless 0 < factor <= 1.
Model scaled(const Model& model, double factor);

}  // namespace tutti
