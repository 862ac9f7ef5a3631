// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/caller_memory.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

CallerMemory::CallerMemory(const CallBuffers& buffers)
    : given_(buffers),
      // Only read: it is a source, or a message that is sent.
      input_(const_cast<std::byte*>(buffers.input.data()), buffers.input.size()),
      output_(buffers.output) {
    together_ = overlap(input_, output_);
    // In place, a rank may have one of the two only; then that is the memory.
    if (!together_ && buffers.in_place && output_.empty()) std::swap(input_, output_);
    if (!together_) return;
    std::byte* const begin = std::min(input_.data(), output_.data());
    std::byte* const end = std::max(input_.data() + input_.size(), output_.data() + output_.size());
    output_ = {begin, end};
    input_ = {};
}

std::optional<Place> CallerMemory::place_of(const std::byte* address) const {
    const auto within = [&](std::span<std::byte> memory, Place::In in) -> std::optional<Place> {
        if (memory.empty() || address < memory.data() || address >= memory.data() + memory.size())
            return std::nullopt;
        return Place{in, static_cast<std::uint64_t>(address - memory.data())};
    };
    const auto in_output = within(output_, Place::In::output);
    return in_output ? in_output : within(input_, Place::In::input);
}

}  // namespace tutti
