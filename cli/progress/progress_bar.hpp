// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

/// "45 s", "2:05 min"
std::string in_minutes(double seconds);

/// How far a long job is, on stderr: a bar with the time left on a terminal, elsewhere a plain line
/// now and then. Short jobs stay silent.
class ProgressBar {
public:
    explicit ProgressBar(std::size_t goal);
    ~ProgressBar();

    /// `now` is what is being done. Where it is not known how long the rest takes, it takes as long
    /// as its share of the goal.
    void show(const std::string& now, std::optional<double> seconds_left = {});
    void step() { ++done_; }
    void reach(std::size_t done) { done_ = done; }
    /// Makes room for other output on the terminal.
    void clear();

private:
    std::size_t goal_;
    std::size_t done_ = 0;
    std::int64_t began_ns_;
    std::int64_t shown_ns_ = 0;
    bool is_terminal_;
    bool is_visible_ = false;
};

/// How far what has no bar is: on a terminal in place of its last line, elsewhere a plain line now
/// and then. An empty text clears the terminal's.
void show_on_last_line(const std::string& text);

}  // namespace tutti
