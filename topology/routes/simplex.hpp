// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <vector>

namespace tutti {

/// The simplex method for "as much as possible in all, while no row is overfull", where columns are
/// made as they are needed. Rows and columns are counted from 0; `free` is the unused part of a
/// row.
class Simplex {
public:
    using Column = std::map<int, double>;  ///< what one of it takes of which rows
    static constexpr int free = -1;

    /// What there is of each row: none is negative.
    explicit Simplex(const std::vector<double>& rows);

    /// Of each row, at the present amounts. A column that costs less than 1 is worth taking, and so
    /// is the unused part of a row of negative price.
    std::vector<double> prices() const;

    /// As much of the column as fits comes in, at the expense of others. False where no row holds
    /// it back.
    bool take(const Column& column, int number);
    bool leave_unused(int row) { return take({{row, 1.}}, free); }

    struct Amount {
        int column = free;
        double amount = 0;
    };
    const std::vector<Amount>& amounts() const { return basis_; }

private:
    double& inverse(int row, int column);
    double inverse(int row, int column) const;

    int rows_;
    std::vector<double> inverse_;  // of the columns that are in the basis
    std::vector<Amount> basis_;    // as many as there are rows
};

}  // namespace tutti
