// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/caller_memory.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tutti {
namespace {

bool holds(std::span<const std::byte> region, const std::byte* address) {
    return !region.empty() && address >= region.data() && address < region.data() + region.size();
}

}  // namespace

CallerMemory::CallerMemory(const CallBuffers& buffers)
    : given_(buffers),
      // Only ever read: it is a source, or a message that is sent.
      input_(const_cast<std::byte*>(buffers.input.data()), buffers.input.size()),
      output_(buffers.output) {
    together_ = !input_.empty() && !output_.empty() &&
                input_.data() < output_.data() + output_.size() &&
                output_.data() < input_.data() + input_.size();
    if (!together_) return;
    std::byte* const begin = std::min(input_.data(), output_.data());
    std::byte* const end = std::max(input_.data() + input_.size(), output_.data() + output_.size());
    output_ = {begin, end};
    input_ = {};
}

CallerMemory::Region CallerMemory::region_of(const std::byte* address) const {
    if (holds(output_, address)) return Region::output;
    return holds(input_, address) ? Region::input : Region::none;
}

void CallerMemory::check_fits(const CallerMemory& other) const {
    const bool same_sizes = given_.input.size() == other.given_.input.size() &&
                            given_.output.size() == other.given_.output.size();
    const bool same_shape = together_ == other.together_ && output_.size() == other.output_.size();
    if (!same_sizes || !same_shape)
        throw Error("a plan takes other buffers only of the same sizes, and both in place or not");
}

std::byte* CallerMemory::carried(std::byte* address, const CallerMemory& other) const {
    switch (region_of(address)) {
        case Region::input:
            return other.input_.data() + (address - input_.data());
        case Region::output:
            return other.output_.data() + (address - output_.data());
        case Region::none:
            return address;
    }
    return address;
}

}  // namespace tutti
