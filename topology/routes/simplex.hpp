// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <vector>

namespace tutti {

/// The simplex method with column generation: maximises the total amount of all columns within the
/// rows' capacities. Rows and columns are counted from 0; `free` is the unused part of a row. No
/// library replaces it, because users' programs link libtutti: GLPK would put them under the GPL-3,
/// and CLP would load a BLAS into them.
class Simplex {
public:
    using Column = std::map<int, double>;  ///< use of each row per unit
    static constexpr int free = -1;

    /// Takes the capacities of the rows, which must not be negative.
    explicit Simplex(const std::vector<double>& rows);

    /// Returns the price of each row at the current amounts. Taking a column with a cost below 1,
    /// or the unused part of a row with a negative price, increases the total.
    std::vector<double> prices() const;

    /// Brings the column into the basis with the largest possible amount. Returns false if no row
    /// limits it.
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
    std::vector<double> inverse_;  // inverse of the basis columns
    std::vector<Amount> basis_;    // one for each row
};

}  // namespace tutti
