// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "workloads/learn/training/layer.hpp"
#include "workloads/learn/training/matrix_product.hpp"

namespace tutti {
namespace {

constexpr int side = 3;

// A convolution is a matrix product once every pixel's neighbourhood is written out: one row for
// each place of the filter (channel, dy, dx), one column for each pixel.
class Convolution : public Layer {
public:
    Convolution(Shape input, int channels)
        : Layer(input, {channels, input.height, input.width}),
          filter_(input.channels * side * side),
          pixels_(input.height * input.width),
          neighbours_(as_size(filter_ * pixels_)),
          d_neighbours_(neighbours_.size()) {}

    std::vector<LayerParameter> parameters() const override {
        return {{"weight", filters() * filter_, filter_}, {"bias", filters(), filter_}};
    }

    void forward(std::span<const float> weights, std::span<const float> in, std::span<float> out,
                 int rows) override {
        for (int row = 0; row < rows; ++row) {
            const auto sample = row_of(out, row, output());
            for (int f = 0; f < filters(); ++f)
                std::fill_n(sample.begin() + f * pixels_, pixels_,
                            at(weights, filters() * filter_ + f));
            write_out(row_of(in, row, input()));
            add_product(matrix(weights, filters(), filter_), neighbourhoods(), sample);
        }
    }

    // Weight and bias become ready at the end, because samples are processed one by one.
    void backward(const Backward& pass, const Ready& ready) override {
        const auto bias = pass.gradients.subspan(as_size(filters() * filter_));
        for (int row = 0; row < pass.rows; ++row) {
            const auto d_sample = row_of(pass.d_out, row, output());
            const MatrixView d_out = matrix(d_sample, filters(), pixels_);
            write_out(row_of(pass.in, row, input()));
            add_product(d_out, neighbourhoods().transposed(), pass.gradients);
            for (int f = 0; f < filters(); ++f) {
                const auto d_image = d_sample.subspan(as_size(f * pixels_), as_size(pixels_));
                float& sum = at(bias, f);
                sum = std::accumulate(d_image.begin(), d_image.end(), sum);
            }
        }
        ready(0);
        ready(1);
        if (pass.d_in.empty()) return;
        const MatrixView filters_in = matrix(pass.weights, filters(), filter_);
        for (int row = 0; row < pass.rows; ++row) {
            const auto d_sample = row_of(pass.d_out, row, output());
            std::fill(d_neighbours_.begin(), d_neighbours_.end(), 0.0f);
            add_product(filters_in.transposed(), matrix(d_sample, filters(), pixels_),
                        d_neighbours_);
            gather(row_of(pass.d_in, row, input()));
        }
    }

private:
    int filters() const { return output().channels; }

    template <typename Value>
    static std::span<Value> row_of(std::span<Value> values, int row, Shape shape) {
        const auto size = as_size(shape.size());
        return values.subspan(as_size(row) * size, size);
    }

    MatrixView neighbourhoods() const { return matrix(neighbours_, filter_, pixels_); }

    // Calls visit(row of the written out matrix, image row, dx). The places of a filter's row that
    // lie inside the image are columns from .. to.
    template <typename Visit>
    void for_each_line(const Visit& visit) const {
        const int width = input().width;
        for (int place = 0; place < filter_; ++place) {
            const int channel = place / (side * side);
            const int dy = place / side % side - side / 2, dx = place % side - side / 2;
            for (int y = 0; y < input().height; ++y) {
                const bool inside = y + dy >= 0 && y + dy < input().height;
                const int first = std::max(0, -dx), last = inside ? std::min(width, width - dx) : 0;
                const int line = place * pixels_ + y * width;
                visit(line, (channel * input().height + y + dy) * width + dx, first, last);
            }
        }
    }

    void write_out(std::span<const float> image) {
        std::fill(neighbours_.begin(), neighbours_.end(), 0.0f);
        for_each_line([&](int line, int pixel, int first, int last) {
            for (int x = first; x < last; ++x) at(neighbours_, line + x) = at(image, pixel + x);
        });
    }

    // Inverts the method: each pixel's gradient is the sum over the neighbourhoods that it is in.
    void gather(std::span<float> d_image) const {
        std::fill(d_image.begin(), d_image.end(), 0.0f);
        for_each_line([&](int line, int pixel, int first, int last) {
            for (int x = first; x < last; ++x)
                at(d_image, pixel + x) += at(d_neighbours_, line + x);
        });
    }

    int filter_;  // values of one filter
    int pixels_;
    std::vector<float> neighbours_;
    std::vector<float> d_neighbours_;
};

}  // namespace

std::unique_ptr<Layer> convolution(Shape input, int channels) {
    return std::make_unique<Convolution>(input, channels);
}

}  // namespace tutti
