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

/// Cost of tuning one subject: timed calls, and the total time including setup and checks.
struct TuneCost {
    std::int64_t samples = 0;
    double seconds = 0;
    std::int64_t hold_out_samples = 0;
    double hold_out_seconds = 0;
    std::int64_t evaluation_samples = 0;  ///< samples of an exhaustive search for comparison
    double evaluation_seconds = 0;
};

/// Log of races in the order of measuring, written as they happen, so that an interrupted search
/// can resume and other tools can read the samples. JSON Lines; the first line names the ranks.
class RaceLog {
public:
    /// Samples of one configuration at one size; none after a wrong result.
    struct Entry {
        Subject subject;
        Bytes size;
        Configuration configuration;
        std::vector<double> samples_ns;
        bool is_evaluation = false;  ///< of the exhaustive search that evaluates the search
    };

    /// Creates the file, or with `goes_on` reads what an earlier search of the same job shape and
    /// `plan` (a digest of the request) has left, and appends. A torn last line is cut off. Throws
    /// Error if the file has another job shape or plan, or is not such a log.
    RaceLog(std::filesystem::path path, const JobShape& job_shape, const std::string& plan,
            bool goes_on);

    const std::vector<Entry>& earlier() const { return earlier_; }

    // Writes one line at once, so that a crash of this process does not tear it.
    void append(const Entry& entry);
    void append(const Subject& subject, const TuneCost& cost);
    void append_calibration(std::int64_t samples, double seconds);

private:
    void append(const std::string& line);

    std::filesystem::path path_;
    std::vector<Entry> earlier_;
    std::ofstream stream_;
};

/// Reads the entries of any search's log. Throws Error.
std::vector<RaceLog::Entry> races_in(const std::filesystem::path& path);

/// Returns the entries of the first rank's log on all ranks. Collective.
std::vector<RaceLog::Entry> races_of_first(World& world, const std::vector<RaceLog::Entry>& mine);

}  // namespace tutti
