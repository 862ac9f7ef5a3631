// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

namespace tutti {

/// The launcher's process that started this one: mpirun, or its daemon on a further host.
class LauncherProcess {
public:
    /// The parent, if it has the name of a launcher, as nothing else tells; else there is none, and
    /// nothing happens below.
    LauncherProcess();

    bool is_there() const { return handle_ >= 0; }

    /// Its file descriptor; -1 if there is none.
    int handle() const { return handle_; }

    /// Whether it is still the parent of this process: whoever outlives it gets another.
    bool is_parent() const;

    /// For the end of a job that failed: waits until it has ended, or kills it after 10 s. A
    /// launcher whose network is gone would wait a quarter of an hour for hosts that cannot answer.
    void do_not_let_linger() const;

private:
    pid_t process_;
    int handle_ = -1;  // stays the same process even when its number is used again
};

}  // namespace tutti
