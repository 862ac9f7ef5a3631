// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tutti {

/// The launcher's process that started this one: mpirun, or its daemon on a further host.
class LauncherProcess {
public:
    /// The parent, if it has the name of a launcher, as nothing else tells; else there is none, and
    /// nothing happens below.
    LauncherProcess();

    /// For the end of a job that failed: waits until it has ended, or kills it after 10 s. A
    /// launcher whose network is gone would wait a quarter of an hour for hosts that cannot answer.
    void do_not_let_linger() const;

private:
    int handle_ = -1;  // stays the same process even when its number is used again
};

}  // namespace tutti
