// SPDX-License-Identifier: Apache-2.0
// Thirteen 3x3 convolutions in five stages, and three linear layers which hold nine tenths of the
// parameters: the first alone has 103 million. Simonyan and Zisserman 2015, arXiv:1409.1556.
#include <fmt/format.h>

#include <vector>

#include "workloads/models/model_writer.hpp"

namespace tutti {

Model vgg16() {
    ModelWriter writer("vgg16");
    const std::vector<std::vector<std::int64_t>> stages{
        {64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}};
    std::int64_t channels = 3, side = 224;
    int module = 0;  // numbered with the activations and pools between them
    for (const auto& stage : stages) {
        for (const auto width : stage) {
            writer.run({writer.biased_convolution(fmt::format("features.{}", module), channels,
                                                  width, 3, static_cast<double>(side * side))});
            writer.next_unit();
            channels = width;
            module += 2;
        }
        side /= 2;
        module += 1;
    }
    writer.run({writer.linear("classifier.0", channels * side * side, 4096, 1)});
    writer.next_unit();
    writer.run({writer.linear("classifier.3", 4096, 4096, 1)});
    writer.next_unit();
    writer.run({writer.linear("classifier.6", 4096, 1000, 1)});
    return std::move(writer).done();
}

}  // namespace tutti
