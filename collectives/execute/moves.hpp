// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "kernels/reduce.hpp"

namespace tutti {

/// The local work of a plan in order: each move combines some sources into one place or several, or
/// copies one. Neighbouring moves over neighbouring memory are joined when added, so that cutting a
/// message into many chunks costs the executor nothing.
class Moves {
public:
    Moves(DataType type, Op op)
        : element_size_(size_of(type)),
          reduce_(find_reduce(type, op)),
          streaming_reduce_(find_reduce(type, op, Stores::streaming)) {}

    /// Each out = sources[0] op sources[1] op ...; `bytes` is a whole number of elements.
    void add(std::span<std::byte* const> outs, std::span<const std::byte* const> sources,
             std::size_t bytes, Stores stores = Stores::cached);
    void add(std::byte* out, std::span<const std::byte* const> sources, std::size_t bytes) {
        add(std::span(&out, 1), sources, bytes);
    }

    /// Moves added from now on are not joined with those before.
    void close() { joinable_from_ = moves_.size(); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(moves_.size()); }

    /// Does the moves from `first` up to `end`.
    void run(std::uint32_t first, std::uint32_t end) const;

private:
    struct Move {
        std::size_t bytes;
        std::uint32_t first_out, outs;
        std::uint32_t first_source, sources;
        Stores stores;
    };
    bool joins(const Move& last, std::span<std::byte* const> outs,
               std::span<const std::byte* const> sources, Stores stores) const;

    std::size_t element_size_;
    ReduceKernel reduce_, streaming_reduce_;
    std::vector<Move> moves_;
    std::vector<std::byte*> outs_;
    std::vector<const std::byte*> sources_;
    std::size_t joinable_from_ = 0;
};

}  // namespace tutti
