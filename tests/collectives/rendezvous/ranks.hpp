// SPDX-License-Identifier: Apache-2.0
// Ranks of a rendezvous within a test: threads, or children of the test's process.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/rendezvous.hpp"
#include "tests/base/messages.hpp"

namespace tutti {

/// An unused port, and rank 0's socket there.
class TestRendezvous {
public:
    explicit TestRendezvous(int ranks, double deadline = 20)
        : ranks_(ranks), deadline_(deadline), listening_(listen_at({"127.0.0.1", 0})) {}

    int port() const { return port_of(listening_.number); }
    const std::string& address() const { return address_; }

    /// Returns the rendezvous of one rank; rank 0 takes over the socket.
    Rendezvous of(int rank) {
        return {.address = address_,
                .rank = rank,
                .size = ranks_,
                .deadline = deadline_,
                .listening_socket = rank == 0 ? std::exchange(listening_.number, -1) : -1};
    }

private:
    int ranks_;
    double deadline_;
    OpenFile listening_;
    std::string address_ = to_string(TcpAddress{"127.0.0.1", port()});
};

/// Runs body on every rank, as threads; returns the error of each, by rank.
inline std::vector<Thrown> run_as_rendezvous(int ranks, const std::function<void(World&)>& body,
                                             double hang_timeout = 20) {
    TestRendezvous ranks_meet(ranks);
    std::vector<Thrown> thrown(as_size(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, where = ranks_meet.of(rank)] {
            at(thrown, where.rank) = thrown_by([&] {
                const auto world = rendezvous_world(where);
                world->hang_timeout = hang_timeout;
                body(*world);
            });
        });
    for (auto& thread : threads) thread.join();
    return thrown;
}

inline void expect_nothing_thrown(const std::vector<Thrown>& by_rank) {
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
        EXPECT_EQ(by_rank[rank].text, "") << "rank " << rank;
}

/// A rank that is a separate process; it ends with the test at the latest.
class ChildRank {
public:
    ChildRank(const Rendezvous& where, const std::function<void(World&)>& body) : process_(fork()) {
        if (process_ != 0) {
            if (where.listening_socket >= 0) close(where.listening_socket);  // the child's
            return;
        }
        alarm(60);
        try {
            const auto world = rendezvous_world(where);
            body(*world);
        } catch (const Error& error) {
            std::fprintf(stderr, "child: %s\n", error.what());
            _exit(static_cast<int>(error.code()));
        }
        _exit(0);
    }
    ~ChildRank() {
        if (process_ > 0) {
            kill(SIGKILL);
            waitpid(process_, nullptr, 0);
        }
    }
    void kill(int signal) const { ::kill(process_, signal); }
    /// Waits for its end and returns its exit code.
    int end() {
        int status = 0;
        waitpid(std::exchange(process_, 0), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

private:
    pid_t process_;
};

}  // namespace tutti
