// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "results/records/record.hpp"

namespace tutti {

/// From here on SIGINT, SIGTERM and SIGHUP end this process with a line that says what was kept, a
/// record in the results file, and the exit code 128 + signal; a signal that is ignored (by nohup)
/// stays so. For processes without a guardian, which has its own way to end.
void end_on_signals();

/// Signals act as the system has it: for a rank, whose guardian tells of its end.
void leave_signals_to_guardian();

/// What is kept so far and how to go on, for the line of an interruption: "37 of 120 points are in
/// out.jsonl; ...". May be called again as more is kept.
void announce_kept(const std::string& text);

/// While it lives, a signal that ends this process ends a group of processes, too; of two groups at
/// most at a time.
class EndsWithUs {
public:
    explicit EndsWithUs(int group);
    ~EndsWithUs();
    EndsWithUs(const EndsWithUs&) = delete;
    EndsWithUs& operator=(const EndsWithUs&) = delete;

private:
    int group_;
};

/// While it lives, a signal that ends this process removes the folder and all that is in it; of
/// four folders at most at a time. The path must outlive it.
class GoesWithUs {
public:
    explicit GoesWithUs(const char* folder);
    ~GoesWithUs();
    GoesWithUs(const GoesWithUs&) = delete;
    GoesWithUs& operator=(const GoesWithUs&) = delete;

private:
    const char* folder_;
};

/// Room for such a text.
using KeptText = char[1024];

/// announce_kept writes here from now on: where a guardian reads it.
void share_kept_text(KeptText& shared);

/// A signal is to be recorded in the file that is open as `file`, as a failure of `session`.
void announce_results_file(int file, const std::string& session);

/// "Ctrl-C (SIGINT)".
const char* in_words_of_signal(int signal);

}  // namespace tutti
