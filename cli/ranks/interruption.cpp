// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/interruption.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "base/index.hpp"

namespace tutti {
namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};

// Prepared in advance, as a signal handler may not allocate memory.
KeptText kept_of_this_process = "nothing has been stored yet";
KeptText* kept = &kept_of_this_process;
int results_file = -1;
std::array<std::atomic<pid_t>, 2> groups;  // process groups of a comparison
std::array<std::atomic<const char*>, 4> folders;
std::array<KeptText, signals.size()> records;

void store(KeptText& line, const std::string& text) {
    const std::size_t length = std::min(text.size(), sizeof line - 1);
    std::memcpy(line, text.data(), length);
    line[length] = '\0';
}

void write_all(int file, const char* text) {
    [[maybe_unused]] const auto written = write(file, text, std::strlen(text));
}

/// Writes the last record. Other threads keep measuring until the process ends: their records then
/// go to /dev/null.
void record_as_last(const char* record) {
    const int file = dup(results_file);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && nowhere >= 0) dup2(nowhere, results_file);
    write_all(file >= 0 ? file : results_file, record);
}

void end_with_a_line(int signal) {
    const auto number = as_size(std::ranges::find(signals, signal) - signals.begin());
    if (results_file >= 0) record_as_last(records[number]);
    char line[sizeof(KeptText) + 64] = "\ntutti: ended by ";
    for (const char* part : {signal_name(signal), "; ", static_cast<const char*>(*kept), "\n"})
        std::strcat(line, part);
    write_all(STDERR_FILENO, line);
    for (const auto& group : groups)
        if (const pid_t one = group) kill(-one, SIGTERM);
    // Removes folders with another program, as a handler may not even read a folder. Uses _Fork, as
    // fork() could wait for what the signal has interrupted.
    for (const auto& folder : folders) {
        const char* const path = folder;
        if (path != nullptr && _Fork() == 0) {
            execl("/bin/rm", "rm", "-rf", path, nullptr);
            _exit(127);
        }
    }
    _exit(128 + signal);
}

}  // namespace

const char* signal_name(int signal) {
    switch (signal) {
        case SIGINT:
            return "Ctrl-C (SIGINT)";
        case SIGTERM:
            return "SIGTERM";
        default:
            return "SIGHUP";
    }
}

void end_on_signals() {
    for (const int signal : signals) {
        struct sigaction now {};
        if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
        now = {};
        now.sa_handler = end_with_a_line;
        sigaction(signal, &now, nullptr);
    }
}

void restore_default_signals() {
    for (const int signal : signals) {
        struct sigaction now {};
        if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == end_with_a_line)
            std::signal(signal, SIG_DFL);
    }
}

KillGroupOnExit::KillGroupOnExit(int group) : group_(group) {
    for (auto& place : groups)
        if (pid_t free = 0; place.compare_exchange_strong(free, group)) return;
}

KillGroupOnExit::~KillGroupOnExit() {
    for (auto& place : groups) {
        pid_t own = group_;
        place.compare_exchange_strong(own, 0);
    }
}

RemoveOnExit::RemoveOnExit(const char* folder) : folder_(folder) {
    for (auto& place : folders)
        if (const char* free = nullptr; place.compare_exchange_strong(free, folder)) return;
}

RemoveOnExit::~RemoveOnExit() {
    for (auto& place : folders) {
        const char* own = folder_;
        place.compare_exchange_strong(own, nullptr);
    }
}

void announce_kept(const std::string& text) { store(*kept, text); }

void share_kept_text(KeptText& shared) {
    std::memcpy(shared, *kept, sizeof shared);
    kept = &shared;
}

void announce_results_file(int file, const std::string& session) {
    for (std::size_t i = 0; i < signals.size(); ++i) {
        Fail fail;
        fail.session = session;
        fail.phase = std::string("ended by ") + signal_name(signals[i]);
        fail.what = "signal";
        fail.signal = signals[i];
        store(records[i], to_json_line(fail) + "\n");
    }
    results_file = file;
}

}  // namespace tutti
