// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "results/records/reader.hpp"

namespace tutti {

/// Reads several files; adds the file of each session to `file_of`. Throws Error if two files hold
/// the same run.
Results read_runs(std::span<const std::string> files, std::map<std::string, std::string>& file_of);

/// By the id of each session: that of the first part of its run, which it may have resumed.
std::map<std::string, std::string> first_parts(std::span<const Session> sessions);

/// Returns each launch by itself, in the order of the records: its session and launch record, its
/// points, steps and numerics (at least one point or step), and how it failed or ended. A resumed
/// run is one launch, that of its last part; measurements that a later part repeated count
/// there.
std::vector<Results> by_launch(const Results& results);

}  // namespace tutti
