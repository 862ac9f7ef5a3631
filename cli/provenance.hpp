// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/options/run_options.hpp"
#include "collectives/world/world.hpp"
#include "results/records/record.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {

/// Describes the command, its options and this build; the same session on all ranks. Collective.
Session describe_session(World& world, const RunOptions& run, std::uint64_t seed);

/// Returns the record of a host with these facts and this fingerprint of its topology.
HostRecord record_of(const HostFacts& facts, std::string topology);

/// Describes hosts, ranks, GPUs and libraries; complete on every rank. Collective.
Launch describe_launch(World& world, const std::string& session);

/// Returns for example "tutti 0.1.0 (7450667d867f, changed)".
std::string describe(const Tool& tool);

/// Describes tool and launch in a few lines for the head of a table. The first line names the tool.
std::vector<std::string> head_notes(const Tool& tool, const Launch& launch);

/// Returns the output of `tutti --version`: version, commit, compiler and libraries, one per line.
std::string version_text();

/// Returns "CUDA 13.0, driver 580.65.06 (up to CUDA 13.0), NCCL 2.28.9", and a line for each GPU
/// that CUDA can use, or a line that tells why there is none.
std::vector<std::string> describe_gpus();

}  // namespace tutti
