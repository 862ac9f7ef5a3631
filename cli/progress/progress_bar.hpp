// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

/// Formats a duration: "45 s", "2:05 min".
std::string in_minutes(double seconds);

/// Shows the progress of a long job on stderr: a bar with the remaining time on a terminal,
/// elsewhere a line every 10 s. Short jobs print nothing.
class ProgressBar {
public:
    explicit ProgressBar(std::size_t goal);
    ~ProgressBar();

    /// Shows `now`, the current activity. Without `seconds_left`, the remaining time is estimated
    /// from the share of the goal that is done.
    void show(const std::string& now, std::optional<double> seconds_left = {});
    void step() { ++done_; }
    void reach(std::size_t done) { done_ = done; }
    /// Removes the bar before other output.
    void clear();

private:
    std::size_t goal_;
    std::size_t done_ = 0;
    std::int64_t began_ns_;
    std::int64_t shown_ns_ = 0;
    bool is_terminal_;
    bool is_visible_ = false;
};

/// Shows the progress of a job without a bar: on a terminal in the last line, elsewhere as a line
/// every 10 s. An empty text clears the line on a terminal.
void show_on_last_line(const std::string& text);

}  // namespace tutti
