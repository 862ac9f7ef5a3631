// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/error.hpp"

extern char** environ;

namespace tutti {

std::map<std::string, std::string> environment_of_process() {
    std::map<std::string, std::string> variables;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
        const std::string text = *one;
        if (const auto equals = text.find('='); equals != text.npos)
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

std::vector<std::string> shell_words(std::string_view text) {
    std::vector<std::string> words;
    bool is_in_word = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char now = text[i];
        const bool is_blank = now == ' ' || now == '\t' || now == '\n';
        if (quote == 0 && is_blank) {
            is_in_word = false;
            continue;
        }
        if (!is_in_word) words.emplace_back();
        is_in_word = true;
        if (quote == 0 && (now == '"' || now == '\''))
            quote = now;
        else if (now == quote)
            quote = 0;
        else if (const char next = i + 1 < text.size() ? text[i + 1] : 0;
                 now == '\\' && quote != '\'' && next != 0 &&
                 (quote == 0 || std::string_view("\"\\$`").find(next) != std::string_view::npos))
            words.back() += text[++i];
        else
            words.back() += now;
    }
    if (quote != 0)
        throw Error(fmt::format("unclosed {} in {}; close it, or use \\{} for the character", quote,
                                text, quote));
    return words;
}

// A memory file for the input or the output of a child.
class Child::Printed {
public:
    Printed() : file_(memfd_create("tutti-output", MFD_CLOEXEC)) {
        if (file_ < 0)
            throw Error(std::string("cannot create a memory file: ") + std::strerror(errno));
    }
    ~Printed() { ::close(file_); }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;

    int file() const { return file_; }

    /// Throws Error.
    void write(const std::string& text) {
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t now =
                ::pwrite(file_, text.data() + done, text.size() - done, static_cast<off_t>(done));
            if (now <= 0)
                throw Error(std::string("cannot write a memory file: ") + std::strerror(errno));
            done += static_cast<std::size_t>(now);
        }
    }

    std::string text() const {
        std::string text;
        char some[4096];
        for (ssize_t now = 0;
             (now = ::pread(file_, some, sizeof some, static_cast<off_t>(text.size()))) > 0;)
            text.append(some, static_cast<std::size_t>(now));
        return text;
    }

private:
    int file_;
};

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> with_environment(const std::map<std::string, std::string>& added) {
    std::map<std::string, std::string> variables = added;
    variables.merge(environment_of_process());
    std::vector<std::string> all;
    for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
    return all;
}

// Enough for the refusals of launchers.
constexpr int lines_quoted = 20;

// Formats output for an error: a single line as it is, otherwise the last lines, each indented on a
// line of its own.
std::string quoted(std::string text) {
    text.erase(text.find_last_not_of('\n') + 1);
    if (text.find('\n') == std::string::npos) return text;
    text.insert(0, 1, '\n');
    std::size_t begin = text.size();
    for (int lines = 0; lines < lines_quoted && begin > 0; ++lines)
        begin = text.rfind('\n', begin - 1);
    text.erase(0, begin);
    for (std::size_t newline = 0; (newline = text.find('\n', newline)) != std::string::npos;)
        text.insert(++newline, 2, ' ');
    return text;
}

}  // namespace

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

Command job_command(const std::string& launcher, const std::string& executable,
                    const std::vector<std::string>& arguments) {
    Command command{.words = shell_words(launcher)};
    command.words.push_back(executable);
    command.words.insert(command.words.end(), arguments.begin(), arguments.end());
    return command;
}

Child::Child(const Command& command, Output output) {
    std::signal(SIGCHLD, SIG_DFL);  // an inherited ignored SIGCHLD would hide the exit code
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    std::optional<Printed> input;
    if (!command.input.empty()) {
        input.emplace().write(command.input);
        posix_spawn_file_actions_adddup2(&files, input->file(), STDIN_FILENO);
    } else if (output == Output::captured) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (output == Output::captured) {
        stdout_ = std::make_shared<Printed>();
        stderr_ = std::make_shared<Printed>();
        posix_spawn_file_actions_adddup2(&files, stdout_->file(), STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, stderr_->file(), STDERR_FILENO);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<std::string> words = command.words,
                             variables = with_environment(command.environment);
    const int failed = posix_spawnp(&process_, words.front().c_str(), &files, &attributes,
                                    pointers_to(words).data(), pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        throw Error("cannot start '" + command.words.front() + "' (" + std::strerror(failed) +
                    "); use the path of an existing program");
    kill_on_exit_ = std::make_unique<KillGroupOnExit>(process_);
    end_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
}

Child::~Child() {
    end_all();
    if (end_ >= 0) ::close(end_);
}

void Child::sleep_until_its_end_or(int milliseconds) const {
    pollfd end{.fd = end_, .events = POLLIN, .revents = 0};  // a negative file is ignored
    ::poll(&end, 1, milliseconds);
}

std::optional<int> Child::wait(double seconds) {
    AwakeTime waited;
    while (!code_) {
        int status = 0;
        rusage used{};
        const pid_t ended = ::wait4(process_, &status, WNOHANG, &used);
        if (ended == process_) {
            code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            for (const timeval& time : {used.ru_utime, used.ru_stime})
                cpu_seconds_ +=
                    static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
        } else if (ended < 0 && errno != EINTR) {
            code_ = 127;
        } else if (waited.look_seconds() >= seconds) {
            break;
        } else {
            sleep_until_its_end_or(1);
        }
    }
    return code_;
}

void Child::end_all() {
    if (code_ || process_ < 0) return;
    ::kill(-process_, SIGTERM);  // launchers forward it to the ranks
    // Reaps the child only after the whole group is killed: its process id identifies the group.
    siginfo_t ended{};
    AwakeTime waited;
    while (ended.si_pid == 0 && waited.look_seconds() < 2) {
        sleep_until_its_end_or(1);
        if (::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
            break;
    }
    ::kill(-process_, SIGKILL);
    wait(2);
}

std::string Child::output() const { return stdout_->text(); }

std::string Child::errors() const { return stderr_->text(); }

std::string Child::last_words() const {
    const std::string said = quoted(stderr_->text());
    return said.empty() ? quoted(stdout_->text()) : said;
}

std::string run_job(const Command& command, const std::string& name, double seconds,
                    Exit otherwise) {
    Child child(command);
    const auto code = child.wait(seconds);
    if (!code)
        throw Error(fmt::format("{} did not end within {:.0f} h: {}", name, seconds / 3600,
                                child.last_words()),
                    Exit::time_out);
    if (*code == 0) return "";
    if (*code == static_cast<int>(Exit::wrong_result)) return child.last_words();
    throw Error(fmt::format("{} ended with {}: {}", name, *code, child.last_words()),
                exit_of_child(*code, otherwise));
}

Exit exit_of_child(int code, Exit otherwise) {
    for (const Exit known : {Exit::wrong_result, Exit::time_out, Exit::rank_lost, Exit::usage})
        if (code == static_cast<int>(known)) return known;
    return otherwise;
}

}  // namespace tutti
