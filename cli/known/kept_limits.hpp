// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "results/records/limits.hpp"

namespace tutti {

/// Keeps what these limits of this host add to what is kept of it for later commands, without the
/// network, which is of this launch's hosts. Returns in words what was done: "kept in FILE". Throws
/// Error if the file cannot be written.
std::string keep_for_later(Limits limits);

/// "others had 40 % of the cores"
std::string in_words_of_taken(double share);

}  // namespace tutti
