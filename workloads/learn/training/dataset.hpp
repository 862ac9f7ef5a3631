// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/index.hpp"

namespace tutti {

/// Samples for training: a row of features and a class for each.
struct Dataset {
    std::vector<float> features;   // row after row
    std::vector<int> labels;       // class of each row, 0 to classes() - 1
    std::vector<int> class_names;  // the file's numbers of the classes, ascending
    int columns = 0;

    int rows() const { return static_cast<int>(labels.size()); }
    int classes() const { return static_cast<int>(class_names.size()); }
    std::span<const float> row(int index) const;

    bool operator==(const Dataset&) const = default;
};

/// Reads `label index:value ...`, one sample a line, with ascending indices from 1; missing indices
/// are 0, and '#' begins a comment. Labels are whole numbers. Throws Error with the file and the
/// line of the first error.
Dataset read_libsvm(const std::filesystem::path& path);

/// Does the same from memory; `source` is its name in errors.
Dataset parse_libsvm(std::string_view text, std::string_view source);

/// 1797 handwritten digits of 8 x 8 pixels from 0 to 1, built into the program: data/README.md.
Dataset digits();

/// Returns features scaled to -1 .. 1: all divided by the largest magnitude among them.
Dataset with_unit_range(Dataset data);

struct Split {
    Dataset train;
    Dataset test;
};

/// Puts every fifth row aside for testing. The same on every rank.
Split split(const Dataset& data);

/// Returns the rows of a batch for one rank: [n r / P, n (r + 1) / P). Each row belongs to one
/// rank; a share may be empty.
std::span<const int> share_of(std::span<const int> batch, Rank rank, int ranks);

/// Rows copied out of a data set, next to each other.
struct Batch {
    std::vector<float> features;
    std::vector<int> labels;

    int rows() const { return static_cast<int>(labels.size()); }

    /// Takes these rows; allocates only if it never held as many.
    void take(const Dataset& data, std::span<const int> rows);
};

/// The order of a data set's rows: shuffled for every epoch by the seed only, so that every rank
/// has the same. Rows that do not fill a batch wait for another epoch.
class BatchOrder {
public:
    /// Throws Error unless the batch is 1 to `rows`.
    BatchOrder(int rows, int batch, unsigned seed);

    int batches_per_epoch() const { return static_cast<int>(order_.size()) / batch_; }

    /// Returns the rows of the next batch, valid until the next call.
    std::span<const int> next();

private:
    void shuffle();

    std::vector<int> order_;
    int batch_;
    int taken_ = 0;  // batches of this epoch
    unsigned long long state_;
};

/// Returns data/digits.libsvm, which the build embeds, so that no file has to be found.
std::string_view digits_text();

}  // namespace tutti
