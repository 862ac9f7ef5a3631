// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/index.hpp"
#include "workloads/learn/training/layer.hpp"

namespace tutti {
namespace {

constexpr int side = 2;

class MaxPool : public Layer {
public:
    explicit MaxPool(Shape input)
        : Layer(input, {input.channels, input.height / side, input.width / side}) {}

    void forward(std::span<const float>, std::span<const float> in, std::span<float> out,
                 int rows) override {
        for (int image = 0; image < rows * input().channels; ++image)
            for_each_pixel(image, [&](std::size_t pixel, int corner) {
                out[pixel] = in[greatest(in, corner)];
            });
    }

    // Only the greatest input of each group gets the gradient.
    void backward(const Backward& pass, const Ready&) override {
        std::fill(pass.d_in.begin(), pass.d_in.end(), 0.0f);
        if (pass.d_in.empty()) return;
        for (int image = 0; image < pass.rows * input().channels; ++image)
            for_each_pixel(image, [&](std::size_t pixel, int corner) {
                pass.d_in[greatest(pass.in, corner)] = pass.d_out[pixel];
            });
    }

private:
    // Calls visit(place in the result, place of its upper left corner in the input).
    template <typename Visit>
    void for_each_pixel(int image, const Visit& visit) const {
        for (int y = 0; y < output().height; ++y)
            for (int x = 0; x < output().width; ++x)
                visit(as_size((image * output().height + y) * output().width + x),
                      (image * input().height + side * y) * input().width + side * x);
    }

    // Returns the first if several are equal.
    std::size_t greatest(std::span<const float> in, int corner) const {
        auto best = as_size(corner);
        for (int place = 1; place < side * side; ++place) {
            const auto here = as_size(corner + place / side * input().width + place % side);
            if (in[here] > in[best]) best = here;
        }
        return best;
    }
};

}  // namespace

std::unique_ptr<Layer> max_pool(Shape input) { return std::make_unique<MaxPool>(input); }

}  // namespace tutti
