// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

namespace tutti {

/// The launcher's process that started this one: mpirun, or its daemon on a further host; 0 if the
/// parent is anything else. Known by its name, as nothing else tells.
pid_t launcher_process();

/// For the end of a rank that failed: leaves a process behind that kills `launcher` if that is
/// still there after 10 s, and ends with it otherwise. A launcher whose network is gone would wait
/// a quarter of an hour for word from hosts that cannot answer. Nothing happens if `launcher` is 0.
void do_not_let_linger(pid_t launcher);

}  // namespace tutti
