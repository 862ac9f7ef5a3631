// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/index.hpp"

#pragma GCC visibility push(default)
namespace tutti {

class Accelerator;

/// One piece of memory per rank that every rank can load and store: "registered" memory. It lies on
/// the host or on devices; memory on a device is used by plans of that device, and by the host only
/// through copies.
class ReachableMemory {
public:
    virtual ~ReachableMemory() = default;

    std::span<std::byte> mine() const { return of(me_); }
    /// Returns a rank's piece, as this rank's processor addresses it.
    virtual std::span<std::byte> of(Rank rank) const = 0;
    /// Returns the device that holds this rank's piece; null for the host.
    virtual Accelerator* device() const { return nullptr; }

    /// Returns where `part` begins in this rank's piece; nothing if any of it lies outside.
    std::optional<std::size_t> offset_of(std::span<const std::byte> part) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(mine().data());
        const auto from = reinterpret_cast<std::uintptr_t>(part.data());
        if (from < begin || from + part.size() > begin + mine().size()) return std::nullopt;
        return from - begin;
    }

protected:
    explicit ReachableMemory(Rank me) : me_(me) {}
    ReachableMemory(const ReachableMemory&) = default;
    ReachableMemory(ReachableMemory&&) = default;

    Rank me_;
};

}  // namespace tutti
#pragma GCC visibility pop
