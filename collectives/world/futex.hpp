// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace tutti {

/// Sleeps until `word` differs from `expected` and wake_sleepers is called, or for about
/// `nanoseconds`. May return early. `word` may lie in memory that processes share.
void sleep_while(std::uint64_t& word, std::uint64_t expected, std::int64_t nanoseconds);

/// Wakes all threads that sleep on `word`, in all processes. Costs a system call.
void wake_sleepers(std::uint64_t& word);

}  // namespace tutti
