// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/configuration.hpp"

namespace tutti {

class OptionGroup;

/// The words that were typed behind --algo, --transport and --baseline, and whether anything was
/// measured by each. A word is skipped if candidates have it and all of them were skipped: of
/// several transports one may lack an algorithm. `all` and defaults name nothing; `none` in a list
/// makes the rest of it optional.
class NamedWords {
public:
    /// --allow-skips
    void add_option(const OptionGroup& group);
    /// After the arguments were parsed.
    void read(const OptionGroup& group);

    void measured(const Configuration& candidate);
    /// `what` it would have done, and why it did not.
    void skipped(const Configuration& candidate, const std::string& what);

    /// A line that names the words that were skipped, and why; nothing if there are none, or if
    /// they are allowed.
    std::optional<std::string> complaint() const;

private:
    struct Word {
        bool is_measured = false;
        std::string why = {};  ///< the first skip; empty: no candidate has it
    };
    template <class Visit>
    void for_each_of(const Configuration& candidate, Visit&& visit);

    std::map<std::string, Word> words_;  ///< "--algo ring"
    bool allowed_ = false;
};

}  // namespace tutti
