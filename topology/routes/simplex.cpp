// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/simplex.hpp"

#include "base/index.hpp"

namespace tutti {

// Each row gets a slightly different extra amount, so that there are no ties and no cycles.
Simplex::Simplex(const std::vector<double>& rows)
    : rows_(int_size(rows)), inverse_(rows.size() * rows.size()) {
    for (int row = 0; row < rows_; ++row) {
        inverse(row, row) = 1;
        basis_.push_back({free, at(rows, row) + 1e-8 * (row + 1)});
    }
}

double& Simplex::inverse(int row, int column) { return at(inverse_, row * rows_ + column); }
double Simplex::inverse(int row, int column) const { return at(inverse_, row * rows_ + column); }

std::vector<double> Simplex::prices() const {
    std::vector<double> prices(as_size(rows_));
    for (int row = 0; row < rows_; ++row)
        if (at(basis_, row).column != free)
            for (int c = 0; c < rows_; ++c) at(prices, c) += inverse(row, c);
    return prices;
}

bool Simplex::take(const Column& column, int number) {
    constexpr double zero = 1e-9;
    std::vector<double> change(as_size(rows_));
    for (int row = 0; row < rows_; ++row)
        for (const auto& [r, share] : column) at(change, row) += inverse(row, r) * share;
    int leaving = -1;
    double most = 0;
    for (int row = 0; row < rows_; ++row) {
        if (at(change, row) <= zero) continue;
        const double until_gone = at(basis_, row).amount / at(change, row);
        if (leaving >= 0 && until_gone >= most) continue;
        most = until_gone;
        leaving = row;
    }
    if (leaving < 0) return false;
    for (int c = 0; c < rows_; ++c) inverse(leaving, c) /= at(change, leaving);
    for (int row = 0; row < rows_; ++row) {
        if (row == leaving || at(change, row) == 0) continue;
        at(basis_, row).amount -= most * at(change, row);
        for (int c = 0; c < rows_; ++c) inverse(row, c) -= at(change, row) * inverse(leaving, c);
    }
    at(basis_, leaving) = {number, most};
    return true;
}

}  // namespace tutti
