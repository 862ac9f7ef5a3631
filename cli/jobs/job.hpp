// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdlib.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "cli/ranks/interruption.hpp"

namespace tutti {

/// Splits a command ("mpirun -n 2") into words with the quoting of a shell: text in single quotes
/// is literal, text in double quotes is literal except for a backslash before one of "\$`, and a
/// backslash outside of quotes escapes the next character. Nothing is expanded. Throws Error for an
/// unclosed quote.
std::vector<std::string> shell_words(std::string_view text);

/// A program with its arguments and additional environment.
struct Command {
    std::vector<std::string> words;
    std::map<std::string, std::string> environment = {};
    std::string input = {};        ///< its stdin
    bool is_of_this_host = false;  ///< true for a tutti job with all ranks on this host
};

/// Returns the environment of this process.
std::map<std::string, std::string> environment_of_process();

/// Returns the path of the running executable.
std::string this_program();

/// Returns the command of a tutti job: the words of the launcher, which may be none, the executable
/// and its arguments.
Command job_command(const std::string& launcher, const std::string& executable,
                    const std::vector<std::string>& arguments);

/// A child process in a process group of its own. The destructor kills the group of a child that
/// still runs; background processes of a child that has exited are left alone.
class Child {
public:
    enum class Output {
        captured,  ///< goes to memory files that live as long as this object
        inherited  ///< goes where that of this process goes; stdin is inherited, too
    };

    /// Throws Error if the command cannot be started.
    explicit Child(const Command& command, Output output = Output::captured);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Waits at most this long. Returns the exit code as shells have it (128 + signal); nothing if
    /// the child still runs.
    std::optional<int> wait(double seconds);
    /// Returns the time that it and the processes that it waited for spent on cores, on this host;
    /// 0 until wait() has seen its end.
    double cpu_seconds() const { return cpu_seconds_; }
    /// Returns its stdout so far.
    std::string output() const;
    std::string errors() const;  ///< everything written to stderr so far
    /// Returns the last lines of its stderr, or of stdout if stderr is empty: a single line as it
    /// is, otherwise the last 20, each on an indented line.
    std::string last_words() const;

private:
    class Printed;
    void end_all();
    void sleep_until_its_end_or(int milliseconds) const;

    std::shared_ptr<Printed> stdout_, stderr_;
    pid_t process_ = -1;
    int end_ =
        -1;  // a file that can be polled for the end of the process; -1 if the kernel has none
    double cpu_seconds_ = 0;
    std::unique_ptr<KillGroupOnExit> kill_on_exit_;
    std::optional<int> code_;
};

/// Runs a tutti job to its end. Returns its last lines if it ended with wrong results, otherwise an
/// empty text. Throws Error if it does not end in time, and for every other failure: with its exit
/// code if that is one of tutti's, otherwise with `otherwise`. `name` is its name in the error.
std::string run_job(const Command& command, const std::string& name, double seconds,
                    Exit otherwise);

/// Returns the exit code of a process that ran tutti if it is one of tutti's; `otherwise` for a
/// launcher's own code or a signal.
Exit exit_of_child(int code, Exit otherwise);

/// A temporary folder that only this user can read. It is removed with this object, or by a signal
/// that ends the process.
class TemporaryFolder {
public:
    /// Throws Error if it cannot be created.
    TemporaryFolder() {
        std::error_code missing;
        const auto parent = std::filesystem::temp_directory_path(missing);
        path_ = (parent / "tutti-XXXXXX").string();
        if (missing || ::mkdtemp(path_.data()) == nullptr)
            throw Error(
                "cannot create a temporary folder; set TMPDIR to an existing folder that you can "
                "write to");
        remove_on_exit_.emplace(path_.c_str());
    }
    ~TemporaryFolder() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file() const { return path_ + "/results.jsonl"; }

private:
    std::string path_;
    std::optional<RemoveOnExit> remove_on_exit_;
};

}  // namespace tutti
