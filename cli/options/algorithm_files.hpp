// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/verify.hpp"

namespace tutti {

/// Whether a word is a path, as names of algorithms and collectives have no dots or slashes.
bool is_path(const std::string& word);

/// An algorithm in a file of another program. It is called by the file's name without folders.
struct FileAlgorithm {
    std::string path, idea;
    CollectiveSpec spec;
    const Algorithm* row = nullptr;  ///< for these ranks only

    /// Throws Error with Exit::wrong_result, rank and chunk if it does not deliver.
    Proof expect_proof() const;
};

/// Reads the file, and adds its algorithm to those that find_algorithm() knows.
const FileAlgorithm& algorithm_in_file(const std::string& path);

/// Splits a list of algorithms. Files become proved algorithms, called by their names.
std::vector<std::string> parse_algorithms(const std::string& text);

}  // namespace tutti
