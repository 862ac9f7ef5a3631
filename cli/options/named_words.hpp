// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/configuration.hpp"

namespace tutti {

class OptionGroup;

/// Names given to --algo, --transport and --baseline, each with whether it was measured. A name
/// counts as skipped if candidates have it and all of them were skipped: of several transports, one
/// may lack an algorithm. `all` and default values count as no names; a list with `none` makes the
/// rest optional.
class NamedWords {
public:
    /// Adds --allow-skips.
    void add_option(const OptionGroup& group);
    /// Reads the names. Call after parsing.
    void read(const OptionGroup& group);

    void measured(const Configuration& candidate);
    /// `what`: the candidate and the reason.
    void skipped(const Configuration& candidate, const std::string& what);

    /// Returns a line with the skipped names and reasons; nothing if there are none or if skips are
    /// allowed.
    std::optional<std::string> complaint() const;

private:
    struct Word {
        bool is_measured = false;
        std::string why = {};  ///< reason of the first skip; empty: no candidate has this name
    };
    template <class Visit>
    void for_each_of(const Configuration& candidate, Visit&& visit);

    std::map<std::string, Word> words_;  ///< "--algo ring"
    bool allowed_ = false;
};

}  // namespace tutti
