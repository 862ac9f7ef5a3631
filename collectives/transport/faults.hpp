// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/index.hpp"

namespace tutti {

/// A fault that the loopback transport injects on request, to prove that the checker and the
/// watchdog detect it.
struct Fault {
    enum class Kind { drop, delay, doubled, corrupt, stop };
    Kind kind = Kind::drop;
    std::optional<Rank> from;  ///< only messages from this rank (stop: the rank that stops)
    std::optional<Rank> to;
    std::optional<int> step;
    long nth = 0;  ///< number of matching messages of a rank that pass before the first fault
    double delay_seconds = 0;  ///< for `delay`; 0: for ever
};

/// Parses "drop", "double:from=1,to=2,step=0", "delay:ms=200", "corrupt:nth=3", "stop:from=1".
/// Throws Error for anything else, with the valid forms.
Fault parse_fault(std::string_view text);

std::string to_string(const Fault& fault);

}  // namespace tutti
