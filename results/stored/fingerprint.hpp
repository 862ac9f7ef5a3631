// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "results/records/reader.hpp"

namespace tutti {

/// Facts that must agree for times to be comparable, by name: hosts, ranks, libraries, settings and
/// variables that steer them. Of all launches that measured: more than one value where they differ
/// among themselves. Versions and times are none of it.
using Fingerprint = std::map<std::string, std::set<std::string>>;

/// Whether a stored environment variable may change times: not the numbers of one job, nor where
/// tutti finds its own files.
bool decides_performance(std::string_view variable);

/// The environment variables of a launch that may change times.
TextByName variables_of(const Launch& launch);

/// Returns 8 hex digits for the hosts of a launch: the head of the topology's hash, or in older
/// records of a hash of their names.
std::string machine_of(const Launch& launch);

/// Returns 6 hex digits, equal for equal objects of texts and numbers.
std::string hash_of(const Json& settings);

Fingerprint fingerprint_of(const Results& results);

/// The values of a field; "-" where it is not set.
std::string in_words(const Fingerprint& fingerprint, const std::string& field);

/// A field whose values differ between A and B, or among the launches of one of them.
struct FieldThatDiffers {
    std::string field;
    std::string a, b;
};

std::vector<FieldThatDiffers> differences(const Fingerprint& a, const Fingerprint& b);

}  // namespace tutti
