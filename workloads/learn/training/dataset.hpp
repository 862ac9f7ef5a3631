// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/index.hpp"

namespace tutti {

/// Samples to learn from: a row of features and a class for each.
struct Dataset {
    std::vector<float> features;   // row after row
    std::vector<int> labels;       // of each row its class, 0 to classes() - 1
    std::vector<int> class_names;  // what the file calls each class, ascending
    int columns = 0;

    int rows() const { return static_cast<int>(labels.size()); }
    int classes() const { return static_cast<int>(class_names.size()); }
    std::span<const float> row(int index) const;

    bool operator==(const Dataset&) const = default;
};

/// Reads `label index:value ...`, a sample a line, indices from 1 ascending, what is not named is
/// zero; '#' begins a comment. Labels are whole numbers of any value. Throws Error with the file
/// and the line of the first fault.
Dataset read_libsvm(const std::filesystem::path& path);

/// The same from memory; `source` is what errors call it.
Dataset parse_libsvm(std::string_view text, std::string_view source);

/// 1797 handwritten digits of 8 x 8 pixels from 0 to 1, a part of the program: data/README.md.
Dataset digits();

/// The same with features from -1 to 1: all divided by the largest magnitude among them.
Dataset with_unit_range(Dataset data);

struct Split {
    Dataset train;
    Dataset test;
};

/// Every fifth row is for testing. The same on every rank.
Split split(const Dataset& data);

/// The rows of a batch that a rank takes: [n r / P, n (r + 1) / P). Over all ranks each row is
/// taken once, whatever the count; a share may be empty.
std::span<const int> share_of(std::span<const int> batch, Rank rank, int ranks);

/// Rows copied out of a data set to be next to one another.
struct Batch {
    std::vector<float> features;
    std::vector<int> labels;

    int rows() const { return static_cast<int>(labels.size()); }

    /// Takes these rows; allocates only where it never held as many.
    void take(const Dataset& data, std::span<const int> rows);
};

/// The order of a data set's rows: shuffled anew for every epoch, by the seed alone,
/// so that every rank has the same. The rows that do not fill a batch wait for another epoch.
class BatchOrder {
public:
    /// Throws Error where the batch is not 1 to `rows`.
    BatchOrder(int rows, int batch, unsigned seed);

    int batches_per_epoch() const { return static_cast<int>(order_.size()) / batch_; }

    /// The rows of the next batch, until the next call.
    std::span<const int> next();

private:
    void shuffle();

    std::vector<int> order_;
    int batch_;
    int taken_ = 0;  // batches of this epoch
    unsigned long long state_;
};

/// data/digits.libsvm, which the build makes a part of the program: it needs no path to be found.
std::string_view digits_text();

}  // namespace tutti
