// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "collectives/transport/wire.hpp"

namespace tutti {

/// Between ranks of one host: peers' memory is read and written in place, see execute/direct_plan;
/// the smallest messages travel in the lines of flags.
class HostTransport final : public Transport {
public:
    /// What to do with memory that peers cannot reach: copy it where they can, piece by piece, or
    /// let them read it through the kernel.
    enum class Ordinary { staged, fetched };

    struct Ways {
        std::unique_ptr<MessageTransport> lines = {};  ///< for small messages; none: never
        /// None: whichever is likely to be faster.
        std::optional<Ordinary> ordinary = Ordinary::staged;
        bool takes_registered = true;  ///< or registered memory is treated as ordinary
    };

    HostTransport(std::string_view name, Ways ways) : name_(name), ways_(std::move(ways)) {}

    std::string_view name() const override { return name_; }
    const Ways& ways() const { return ways_; }

private:
    std::string_view name_;
    Ways ways_;
};

}  // namespace tutti
