// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "workloads/models/buckets.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {

/// A step of PyTorch's DistributedDataParallel (Li et al., VLDB 2020): the first rank's buffers are
/// broadcast, then forward, then backward, in which each bucket's mean is begun once all of its
/// gradients are there and those of earlier buckets are; then all are waited for. `times` has an
/// entry for each recorded step (one by formula), all of as many gradients as the model has.
/// A rank passes b N bytes to all-reduces, and the buffers' bytes to broadcasts.
Program ddp_program(const Model& model, DataType type, std::span<const Bucket> buckets,
                    std::span<const ComputeTimes> times, int ranks);

/// A recorded data-parallel step on any number of ranks: rank r has the times of recorded rank r
/// modulo their number; step k those of iteration k modulo theirs. The buckets are the recorded
/// ones or others of the same parameters.
Program program_of(const GradientTrace& trace, const std::string& name,
                   std::span<const Bucket> buckets, int ranks);

}  // namespace tutti
