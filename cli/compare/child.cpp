// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"

extern char** environ;

namespace tutti {

// A file without a name.
class Child::Printed {
public:
    Printed() : file_(memfd_create("tutti-output", MFD_CLOEXEC)) {
        if (file_ < 0) throw Error(std::string("no memory file: ") + std::strerror(errno));
    }
    ~Printed() { ::close(file_); }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;

    int file() const { return file_; }

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
    std::vector<std::string> all;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string text = *one;
        if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
    }
    for (const auto& [name, value] : added) all.push_back(name + "=" + value);
    return all;
}

// Enough for what launchers say when they refuse to start.
constexpr int lines_quoted = 20;

// A single line as it is; else the last ones, each on a line of its own, indented.
std::string quoted(std::string text) {
    text.erase(text.find_last_not_of('\n') + 1);
    if (text.find('\n') == std::string::npos) return text;
    text.insert(0, "\n");
    std::size_t begin = text.size();
    for (int lines = 0; lines < lines_quoted && begin > 0; ++lines)
        begin = text.rfind('\n', begin - 1);
    text.erase(0, begin);
    for (std::size_t newline = 0; (newline = text.find('\n', newline)) != std::string::npos;)
        text.insert(++newline, "  ");
    return text;
}

}  // namespace

Child::Child(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment)
    : stdout_(std::make_shared<Printed>()), stderr_(std::make_shared<Printed>()) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, stdout_->file(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, stderr_->file(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<std::string> words = command, variables = with_environment(environment);
    const int failed = posix_spawnp(&process_, words.front().c_str(), &files, &attributes,
                                    pointers_to(words).data(), pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        throw Error("cannot start '" + command.front() + "' (" + std::strerror(failed) +
                    "); type the path of a program that is there");
    ends_with_us_ = std::make_unique<EndsWithUs>(process_);
}

Child::~Child() { end_all(); }

std::optional<int> Child::wait(double seconds) {
    AwakeTime waited;
    while (!code_) {
        int status = 0;
        const pid_t ended = ::waitpid(process_, &status, WNOHANG);
        if (ended == process_)
            code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        else if (ended < 0 && errno != EINTR)
            code_ = 127;
        else if (waited.look_seconds() >= seconds)
            break;
        const timespec a_while{.tv_sec = 0, .tv_nsec = 1'000'000};
        if (!code_) nanosleep(&a_while, nullptr);
    }
    return code_;
}

void Child::end_all() {
    if (code_ || process_ < 0) return;
    ::kill(-process_, SIGTERM);  // a launcher passes it on
    // Not reaped before all are killed: its number stands for the group.
    siginfo_t ended{};
    AwakeTime waited;
    while (ended.si_pid == 0 && waited.look_seconds() < 2) {
        const timespec a_while{.tv_sec = 0, .tv_nsec = 1'000'000};
        nanosleep(&a_while, nullptr);
        if (::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
            break;
    }
    ::kill(-process_, SIGKILL);
    wait(2);
}

std::string Child::output() const { return stdout_->text(); }

std::string Child::last_words() const {
    const std::string said = quoted(stderr_->text());
    return said.empty() ? quoted(stdout_->text()) : said;
}

std::string end_of(Child& child, const std::string& name, double seconds, Exit otherwise) {
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
