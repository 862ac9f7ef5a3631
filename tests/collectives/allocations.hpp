// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tutti::test {

/// Counts what this thread allocates by operator new while the object lives. The program's operator
/// new is replaced for this, see allocations.cpp.
class AllocationCount {
public:
    AllocationCount();
    ~AllocationCount();
    AllocationCount(const AllocationCount&) = delete;
    AllocationCount& operator=(const AllocationCount&) = delete;

    long so_far() const;
    /// Returns the most bytes that were allocated at the same time.
    long most_bytes() const;
};

}  // namespace tutti::test
