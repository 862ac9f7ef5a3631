// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "autotune/choice/subject.hpp"
#include "base/configuration.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// What a subject took: calls that were timed, and all time with set-ups and checks.
struct TuneCost {
    std::int64_t samples = 0;
    double seconds = 0;
    std::int64_t hold_out_samples = 0;
    double hold_out_seconds = 0;
    std::int64_t evaluation_samples = 0;  ///< of an exhaustive search beside it
    double evaluation_seconds = 0;
};

/// What was raced, in the order of measuring, as it happens: so that a search that is interrupted
/// can go on, and others can look at the samples. JSON Lines; the first line says of which ranks.
class RaceLog {
public:
    /// Samples of one configuration at one size; without any: it gave a wrong result.
    struct Entry {
        Subject subject;
        Bytes size;
        Configuration configuration;
        std::vector<double> samples_ns;
        bool is_evaluation = false;  ///< of an exhaustive search that evaluates another one
    };

    /// Begins a file anew, or with `goes_on` reads what an earlier search of the same job shape and
    /// `plan` (a digest of what was asked for) has left, and appends. A torn last line is cut off.
    /// Throws Error where the file is of another job shape or plan, or is no such log.
    RaceLog(std::filesystem::path path, const JobShape& job_shape, const std::string& plan,
            bool goes_on);

    const std::vector<Entry>& earlier() const { return earlier_; }

    // One line, at once; a crash of this process leaves it whole.
    void append(const Entry& entry);
    void append(const Subject& subject, const TuneCost& cost);
    void append_calibration(std::int64_t samples, double seconds);

private:
    void append(const std::string& line);

    std::filesystem::path path_;
    std::vector<Entry> earlier_;
    std::ofstream stream_;
};

/// What a log of any search holds. Throws Error.
std::vector<RaceLog::Entry> races_in(const std::filesystem::path& path);

/// What the first rank's log holds, on all ranks. Collective.
std::vector<RaceLog::Entry> races_of_first(World& world, const std::vector<RaceLog::Entry>& mine);

}  // namespace tutti
