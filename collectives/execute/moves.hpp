// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "kernels/reduce.hpp"

namespace tutti {

/// The local work of a plan in order: each move combines some sources into one place, or copies
/// one. Neighbouring moves over neighbouring memory are joined when added, so that cutting a
/// message into many chunks costs the executor nothing.
class Moves {
public:
    Moves(DataType type, Op op) : element_size_(size_of(type)), reduce_(find_reduce(type, op)) {}

    /// out = sources[0] op sources[1] op ...; `bytes` is a whole number of elements.
    void add(std::byte* out, std::span<const std::byte* const> sources, std::size_t bytes);
    void add_copy(std::byte* out, const std::byte* source, std::size_t bytes) {
        add(out, std::span(&source, 1), bytes);
    }

    /// Moves added from now on are not joined with those before.
    void close() { joinable_from_ = moves_.size(); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(moves_.size()); }

    /// Does the moves from `first` up to `end`.
    void run(std::uint32_t first, std::uint32_t end) const;

private:
    struct Move {
        std::byte* out;
        std::size_t bytes;
        std::uint32_t first_source;
        std::uint32_t sources;
    };
    bool joins(const Move& last, const std::byte* out,
               std::span<const std::byte* const> sources) const;

    std::size_t element_size_;
    ReduceKernel reduce_;
    std::vector<Move> moves_;
    std::vector<const std::byte*> sources_;
    std::size_t joinable_from_ = 0;
};

}  // namespace tutti
