// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/resource.h>

#include <csignal>

namespace tutti {

/// This process may take no more of something while this lives: a disk that is full, too few
/// descriptors, without using them up.
class SmallLimit {
public:
    /// `of` is one of RLIMIT_*. A file size over its limit is an error then, not a signal.
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
