// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/resource.h>

#include <csignal>

namespace tutti {

/// Lowers a resource limit of this process while the object exists, to simulate a full disk or too
/// few descriptors.
class SmallLimit {
public:
    /// `of` is one of RLIMIT_*. Exceeding a file size limit is then an error instead of a signal.
    SmallLimit(__rlimit_resource of, rlim_t most)
        : of_(of), handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(of_, &before_);
        const rlimit small{most, before_.rlim_max};
        setrlimit(of_, &small);
    }
    ~SmallLimit() {
        setrlimit(of_, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    SmallLimit(const SmallLimit&) = delete;
    SmallLimit& operator=(const SmallLimit&) = delete;

private:
    __rlimit_resource of_;
    rlimit before_{};
    void (*handler_)(int);
};

}  // namespace tutti
