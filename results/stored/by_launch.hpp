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

/// Each launch by itself, in the order of the records: one session, one launch record, the points,
/// steps and numerics that it measured, at least one point or step, and how it failed or ended. A
/// run that was resumed is one launch, that of its last part; what a later part has measured again
/// counts there.
std::vector<Results> by_launch(const Results& results);

}  // namespace tutti
