// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "workloads/models/buckets.hpp"
#include "workloads/models/model.hpp"
#include "workloads/models/ready_times.hpp"
#include "workloads/program/program.hpp"

namespace tutti {

/// A step of PyTorch's DistributedDataParallel (Li et al., VLDB 2020): the first rank's buffers are
/// broadcast, then forward, then backward, in which each bucket's mean is begun once all of its
/// gradients are there and those of earlier buckets are; then all are waited for. `times` has an
/// entry for each recorded step (one by formula), all of as many gradients as the model has.
///
/// A rank hands over b N bytes in all-reduces, and those of the buffers.
Program ddp_program(const Model& model, DataType type, std::span<const Bucket> buckets,
                    std::span<const ComputeTimes> times, int ranks);

}  // namespace tutti
