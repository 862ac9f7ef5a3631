// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_control_variable.hpp"

namespace tutti {

/// Forces one of the running MPI library's algorithms for a collective, by its control variables.
/// Open MPI reads them when a communicator is made, except those of HAN; MPICH 4 reads them at
/// every call. They affect the whole program, so restore() resets them before other calls.
class MpiAlgorithm {
public:
    explicit MpiAlgorithm(const LibraryCall& call);
    ~MpiAlgorithm();
    MpiAlgorithm(const MpiAlgorithm&) = delete;
    MpiAlgorithm& operator=(const MpiAlgorithm&) = delete;

    bool is_forced() const { return is_forced_; }

    /// Returns the component of Open MPI that must run on the ranks; empty: the library's choice.
    std::string_view component() const { return component_; }

    /// Runs `make`, which copies the communicator for the calls, while the algorithm is set.
    template <class Make>
    void force_while(Make&& make) {
        set();
        make();
        restore();
    }

    /// Call this before each call: a library that reads its settings at every call uses this
    /// algorithm until another one is forced or restore() is called. If none is forced here, or the
    /// library reads its settings when a communicator is made, this restores the user's values. In
    /// a timed loop it costs a comparison.
    void force() {
        if (in_force == this) return;
        if (read_at_every_call_) {
            set();
        } else if (in_force != nullptr) {
            restore();
        }
    }

    /// Resets all control variables to the values given by the program's user.
    static void restore();

private:
    struct ForcedVariable {
        MpiControlVariable variable;
        int original, forced;
    };
    void set();

    static MpiAlgorithm* in_force;  // null: all variables have their original values
    std::vector<ForcedVariable> forced_;
    bool is_forced_ = false;
    std::string_view component_;
    bool read_at_every_call_ = false;
};

/// Returns that MPI has no such collective; nothing if it has.
std::optional<std::string> mpi_lacks(Collective collective);

/// Returns why a named algorithm cannot be forced, or why the library would run another one
/// instead.
std::optional<std::string> mpi_algorithm_refuses(const LibraryCall& call, const World& world);

}  // namespace tutti
