// SPDX-License-Identifier: Apache-2.0
// Residual networks for ImageNet: a stem, four stages of blocks, a classifier. Each stage has twice
// the width and half the side of the one before. He et al. 2016, arXiv:1512.03385; the stride is in
// the 3x3 convolution ("v1.5", as torchvision has it).
#include <fmt/format.h>

#include <array>

#include "workloads/models/model_writer.hpp"

namespace tutti {
namespace {

struct Convolution {
    std::int64_t to;
    std::int64_t kernel;
    std::int64_t stride = 1;
};

/// A block: its convolutions, each with a batch norm, and one that fits its input to its output
/// where these differ. Returns the channels that it puts out.
std::int64_t add_block(ModelWriter& writer, const std::string& name, std::int64_t channels,
                       std::int64_t& side, std::initializer_list<Convolution> convolutions) {
    writer.next_unit();
    const std::int64_t entered = channels, side_before = side;
    int number = 0;
    for (const auto& [to, kernel, stride] : convolutions) {
        ++number;
        side /= stride;
        const auto pixels = static_cast<double>(side * side);
        writer.run({writer.convolution(fmt::format("{}.conv{}", name, number), channels, to, kernel,
                                       pixels)});
        writer.run({writer.batch_norm(fmt::format("{}.bn{}", name, number), to, pixels)});
        channels = to;
    }
    if (entered != channels || side_before != side) {
        const auto pixels = static_cast<double>(side * side);
        const auto fit = fmt::format("{}.downsample", name);
        writer.run({writer.convolution(fmt::format("{}.0", fit), entered, channels, 1, pixels)});
        writer.run({writer.batch_norm(fmt::format("{}.1", fit), channels, pixels)});
    }
    return channels;
}

enum class Block { basic, bottleneck };

Model resnet(std::string name, Block block, std::array<int, 4> blocks) {
    ModelWriter writer(std::move(name));
    std::int64_t channels = 64, side = 112;
    writer.run({writer.convolution("conv1", 3, 64, 7, 112 * 112)});
    writer.run({writer.batch_norm("bn1", 64, 112 * 112)});
    side /= 2;  // the pool
    for (int stage = 0; stage < 4; ++stage)
        for (int i = 0; i < blocks[stage]; ++i) {
            const std::int64_t width = 64 << stage, stride = stage > 0 && i == 0 ? 2 : 1;
            const auto at = fmt::format("layer{}.{}", stage + 1, i);
            channels = block == Block::basic
                           ? add_block(writer, at, channels, side, {{width, 3, stride}, {width, 3}})
                           : add_block(writer, at, channels, side,
                                       {{width, 1}, {width, 3, stride}, {4 * width, 1}});
        }
    writer.next_unit();
    writer.run({writer.linear("fc", channels, 1000, 1)});
    return std::move(writer).done();
}

}  // namespace

Model resnet18() { return resnet("resnet18", Block::basic, {2, 2, 2, 2}); }
Model resnet50() { return resnet("resnet50", Block::bottleneck, {3, 4, 6, 3}); }

}  // namespace tutti
