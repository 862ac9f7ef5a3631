// SPDX-License-Identifier: Apache-2.0
#pragma once
// Only for matrix_*.cpp, each compiled for another instruction set. Everything is in an unnamed
// namespace, so that the linker cannot use one set's code for another.
#include <algorithm>
#include <cstring>

#include "workloads/learn/training/matrix_product.hpp"

namespace tutti {
namespace {

// The products of a tile of c are held in registers while a's columns go by (Goto & van de Geijn
// 2008): 4 rows by two vectors take 8 registers of the 16 there are, and feed two adders through
// their latency. b is packed first, so its transpose costs no more; the panel fits the L1 cache.
template <int lanes>
class Product {
public:
    Product(MatrixView a, MatrixView b, float* c) : a_(a), b_(b), c_(c) {}

    void add() {
        for (int inner = 0; inner < a_.columns; inner += depth)
            for (int column = 0; column < b_.columns; column += width) {
                begin_ = inner;
                length_ = std::min(depth, a_.columns - inner);
                column_ = column;
                filled_ = std::min(width, b_.columns - column);
                pack();
                int row = 0;
                for (; row + 4 <= a_.rows; row += 4) tile<4>(row);
                for (; row < a_.rows; ++row) tile<1>(row);
            }
    }

private:
    typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
    static constexpr int width = 2 * lanes;
    static constexpr int depth = 256;

    void pack() {
        const float* from = b_.data + begin_ * b_.row_step + column_ * b_.column_step;
        if (filled_ < width) std::fill_n(panel_, length_ * width, 0.0f);
        if (b_.column_step == 1) {
            for (int k = 0; k < length_; ++k)
                std::copy_n(from + k * b_.row_step, filled_, panel_ + k * width);
        } else {
            for (int j = 0; j < filled_; ++j)
                for (int k = 0; k < length_; ++k)
                    panel_[k * width + j] = from[k * b_.row_step + j * b_.column_step];
        }
    }

    template <int height>
    void tile(int row) {
        Vector left[height], right[height];
        for (int r = 0; r < height; ++r) load(row + r, left[r], right[r]);
        const float* a = a_.data + row * a_.row_step + begin_ * a_.column_step;
        const float* panel = panel_;
        for (int k = 0; k < length_; ++k, panel += width, a += a_.column_step) {
            Vector b0, b1;
            std::memcpy(&b0, panel, sizeof b0);
            std::memcpy(&b1, panel + lanes, sizeof b1);
            for (int r = 0; r < height; ++r) {
                const float factor = a[r * a_.row_step];
                left[r] += factor * b0;
                right[r] += factor * b1;
            }
        }
        for (int r = 0; r < height; ++r) store(row + r, left[r], right[r]);
    }

    float* at(int row) const {
        return c_ + static_cast<std::ptrdiff_t>(row) * b_.columns + column_;
    }

    void load(int row, Vector& left, Vector& right) const {
        float both[width] = {};
        if (filled_ == width)
            std::memcpy(both, at(row), sizeof both);
        else
            std::copy_n(at(row), filled_, both);
        std::memcpy(&left, both, sizeof left);
        std::memcpy(&right, both + lanes, sizeof right);
    }

    void store(int row, const Vector& left, const Vector& right) const {
        float both[width];
        std::memcpy(both, &left, sizeof left);
        std::memcpy(both + lanes, &right, sizeof right);
        if (filled_ == width)
            std::memcpy(at(row), both, sizeof both);
        else
            std::copy_n(both, filled_, at(row));
    }

    MatrixView a_;
    MatrixView b_;
    float* c_;
    int begin_ = 0;   // first of the columns of a
    int length_ = 0;  // number of columns of a, at most depth
    int column_ = 0;  // column of b and c
    int filled_ = 0;  // columns of b in the panel, at most width
    alignas(64) float panel_[depth * width];
};

}  // namespace
}  // namespace tutti
