// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// Recorded counts of calls whose blocks have different lengths. Row r of a matrix has what rank r
/// sends to each rank, in the order of the ranks.
struct CountMatrices {
    std::string name;  ///< of the file
    int rows = 0, columns = 0;
    std::vector<std::vector<std::int64_t>> matrices;  ///< at least one; each row after row

    /// Throws Error unless each matrix has a row for each of these ranks, and a column too.
    void require_square(int ranks) const;
};

/// Reads a file of matrices of one shape, possibly compressed by gzip:
/// - as text: a row is a line of whole numbers, separated by blanks or commas. Empty lines separate
///   matrices. '#' begins a comment; a line that has only a comment separates nothing.
/// - as JSON: a row [1, 2], a matrix of rows or a list of matrices; or {"counts": one of these}.
///
/// Throws Error with file, line, row and column (from 1) for anything but counts of elements, for
/// rows or matrices of different shapes, and for a file without numbers. `option` is the name of
/// the option that takes the file, for errors.
CountMatrices read_count_matrices(const std::string& file, std::string_view option);

/// Does the same with the content of a file.
CountMatrices parse_count_matrices(std::string_view text, std::string_view name);

/// Returns the matrix with rows and columns exchanged: what ranks return after an all-to-all. It is
/// square.
std::vector<std::int64_t> transposed(const std::vector<std::int64_t>& matrix, int ranks);

}  // namespace tutti
