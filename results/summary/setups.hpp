// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/records/reader.hpp"

namespace tutti {

/// A session's id and the number of a launch in it.
using LaunchId = std::pair<std::string, int>;

inline LaunchId launch_of(const auto& record) { return {record.session, record.launch}; }

/// Tells launches that repeat each other from launches of different setups, which are never
/// merged: another machine, kernel, library, tutti or environment. What a record does not say is no
/// difference, except for environment variables: a missing one was not set.
///
/// A letter stands for the facts that tell rivals apart, so one machine has the same letter
/// everywhere, also where its launches of 2 and of 4 ranks differ in other facts.
class Setups {
public:
    /// Each element has one launch with its session, see by_launch. The launches of one element of
    /// `compared` are in one table each.
    Setups(std::span<const Results> launches, std::span<const std::vector<LaunchId>> compared);

    /// The name of each launch's setup, "" for all if they repeat each other.
    std::map<LaunchId, std::string> names_of(std::span<const LaunchId> launches) const;

    /// A fact in which the named setups differ, with its value for each of them.
    struct Difference {
        std::string fact;
        std::vector<std::pair<std::string, std::string>> values;  ///< "A", "Open MPI 4.1.4"
    };
    std::vector<Difference> differences() const;

private:
    using Facts = std::vector<std::pair<std::string, std::string>>;
    static Facts facts_of(const Launch& launch, const Session& session);
    static bool agree(const Facts& some, const Facts& others);
    std::set<int> setups_of(std::span<const LaunchId> launches) const;
    std::vector<std::string> differing_facts(const std::set<int>& setups) const;
    std::vector<std::string> values_of(int setup) const;
    std::size_t place_of(int setup) const;
    std::string name_of_setup(int setup) const;

    std::vector<Facts> setups_;
    std::map<LaunchId, int> setup_of_;
    std::set<int> named_;                            // setups that have a rival
    std::vector<std::string> telling_;               // the fewest facts that tell rivals apart
    std::vector<std::vector<std::string>> letters_;  // the values of these facts for each letter
};

}  // namespace tutti
