// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.hpp"

namespace tutti {
namespace {

constexpr double silent_seconds = 3;
constexpr double seconds_between_lines = 10;
constexpr std::size_t width = 30;

}  // namespace

std::string in_minutes(double seconds) {
    const auto whole = static_cast<long>(seconds + 0.5);
    return whole < 60 ? fmt::format("{} s", whole)
                      : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

ProgressBar::ProgressBar(std::size_t goal)
    : goal_(goal), began_ns_(now_ns()), is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(const std::string& now, std::optional<double> seconds_left) {
    const std::int64_t time = now_ns();
    const double seconds = static_cast<double>(time - began_ns_) * 1e-9;
    if (seconds < silent_seconds) return;
    const double since_shown = static_cast<double>(time - shown_ns_) * 1e-9;
    if (!is_terminal_ && since_shown < seconds_between_lines) return;
    shown_ns_ = time;
    double share = goal_ == 0 ? 1 : static_cast<double>(done_) / static_cast<double>(goal_);
    if (seconds_left)
        share = seconds / (seconds + *seconds_left);
    else if (done_ > 0)
        seconds_left = seconds / share - seconds;
    const std::string left = seconds_left ? in_minutes(*seconds_left) : "?";
    if (!is_terminal_) {
        fmt::print(stderr, "tutti: {} of {} done, about {} left: {}\n", done_, goal_, left, now);
        return;
    }
    const auto filled = static_cast<std::size_t>(share * width);
    fmt::print(stderr, "\r\033[K[{}{}] {:.0f} %  {} left  {}", std::string(filled, '#'),
               std::string(width - filled, '.'), 100 * share, left, now);
    std::fflush(stderr);
    is_visible_ = true;
}

void ProgressBar::clear() {
    if (!is_visible_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    is_visible_ = false;
}

void show_on_last_line(const std::string& text) {
    if (isatty(STDERR_FILENO) == 1) {
        fmt::print(stderr, "\r\033[K{}", text);
        std::fflush(stderr);
        return;
    }
    static std::int64_t since_ns = now_ns();  // time of the first call, then of the last line
    static double silent_for = silent_seconds;
    if (text.empty() || seconds_since(since_ns) < silent_for) return;
    since_ns = now_ns();
    silent_for = seconds_between_lines;
    fmt::print(stderr, "tutti: {}\n", text);
}

}  // namespace tutti
