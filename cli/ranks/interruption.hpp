// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "results/records/record.hpp"

namespace tutti {

/// From now on SIGINT, SIGTERM and SIGHUP end this process with a message that says what was
/// stored, a record in the results file, and the exit code 128 + signal. Ignored signals (nohup)
/// stay ignored. For processes without a supervisor, which handles signals itself.
void end_on_signals();

/// Restores the default action of the signals in a rank, whose supervisor reports its end.
void restore_default_signals();

/// Sets the text about stored results for the message of an interruption: "37 of 120 points are in
/// out.jsonl; ...". May be called repeatedly.
void announce_kept(const std::string& text);

/// While this object exists, a signal that ends this process also ends a process group. At most two
/// groups at a time.
class KillGroupOnExit {
public:
    explicit KillGroupOnExit(int group);
    ~KillGroupOnExit();
    KillGroupOnExit(const KillGroupOnExit&) = delete;
    KillGroupOnExit& operator=(const KillGroupOnExit&) = delete;

private:
    int group_;
};

/// While this object exists, a signal that ends this process also removes a folder with its
/// contents. At most four folders at a time. The path must outlive this object.
class RemoveOnExit {
public:
    explicit RemoveOnExit(const char* folder);
    ~RemoveOnExit();
    RemoveOnExit(const RemoveOnExit&) = delete;
    RemoveOnExit& operator=(const RemoveOnExit&) = delete;

private:
    const char* folder_;
};

/// Memory for such a text.
using KeptText = char[1024];

/// Makes announce_kept write to memory that a supervisor reads.
void share_kept_text(KeptText& shared);

/// Makes a signal record a failure of `session` in the open file `file`.
void announce_results_file(int file, const std::string& session);

/// Returns for example "Ctrl-C (SIGINT)".
const char* signal_name(int signal);

}  // namespace tutti
