// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/ranks/interruption.hpp"

namespace tutti {

/// A program of a comparison, in a process group of its own; what it prints goes to files that end
/// with it. If it outlives this it is killed with its group; what a program that ends by itself has
/// left in the background stays.
class Child {
public:
    /// `command` is the program and its words; `environment` comes on top of this process's. Throws
    /// Error if it cannot be started.
    Child(const std::vector<std::string>& command,
          const std::map<std::string, std::string>& environment);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// The exit code as shells have it (128 + signal), after so many seconds at most; nothing if it
    /// still runs.
    std::optional<int> wait(double seconds);
    /// What it has printed to stdout.
    std::string output() const;
    /// What it said last on stderr, else on stdout: a single line as it is, else the last 20, each
    /// on a line of its own, indented.
    std::string last_words() const;

private:
    class Printed;
    void end_all();

    std::shared_ptr<Printed> stdout_, stderr_;
    pid_t process_ = -1;
    std::unique_ptr<EndsWithUs> ends_with_us_;
    std::optional<int> code_;
};

/// Waits for the end of a child that runs tutti: its last words if it ended with wrong results,
/// else none. Throws Error if it does not end within so many seconds, and for every other end: with
/// its exit code where it is one of tutti's, else with `otherwise`. `name` is what the error calls
/// it.
std::string end_of(Child& child, const std::string& name, double seconds, Exit otherwise);

/// The exit code of a process that ran tutti, where it is one of tutti's; else (a launcher's own, a
/// signal's) `otherwise`.
Exit exit_of_child(int code, Exit otherwise);

}  // namespace tutti
