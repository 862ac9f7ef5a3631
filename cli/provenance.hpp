// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/options/run_options.hpp"
#include "collectives/world/world.hpp"
#include "results/records/record.hpp"

namespace tutti {

/// Who asked for what with which tutti; the same session on all ranks. Collective.
Session describe_session(World& world, const RunOptions& run, std::uint64_t seed);

/// Where it runs: hosts, ranks, GPUs, libraries. Collective; complete on every rank.
Launch describe_launch(World& world, const std::string& session);

/// "tutti 0.1.0 (7450667d867f, changed)"
std::string in_words(const Tool& tool);

/// What the records say of them in a few lines, for the head of a table; the first one names the
/// tool.
std::vector<std::string> describe_in_words(const Tool& tool, const Launch& launch);

/// What `tutti --version` prints: tutti, its commit and compiler, and the libraries that it found,
/// a line each.
std::string version_in_words();

/// "CUDA 13.0, driver 580.65.06 (up to CUDA 13.0), NCCL 2.28.9", and a line for each GPU that CUDA
/// lets this process use, or one that says why there is none.
std::vector<std::string> gpus_in_words();

}  // namespace tutti
