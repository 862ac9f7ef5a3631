// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_control_variable.hpp"

namespace tutti {

/// Forces one of the running MPI library's algorithms for a collective, by its control variables.
/// Open MPI 4 reads them when a communicator is made, MPICH 4 at every call. They hold for the
/// whole program, so they are taken back where others may call: see restore().
class MpiAlgorithm {
public:
    /// `name` empty: the library's own choice.
    MpiAlgorithm(Collective collective, const std::string& name);
    ~MpiAlgorithm();
    MpiAlgorithm(const MpiAlgorithm&) = delete;
    MpiAlgorithm& operator=(const MpiAlgorithm&) = delete;

    bool is_forced() const { return !forced_.empty(); }

    /// Runs `make`, which copies the communicator that calls are to use, while the algorithm is
    /// set.
    template <class Make>
    void force_while(Make&& make) {
        set();
        make();
        restore();
    }

    /// Before a call: a library that reads at every call takes this algorithm until another is
    /// forced or restore(). In a timed loop: a comparison.
    void force() {
        if (read_at_every_call_ && in_force != this) set();
    }

    /// Gives all control variables the values that the program's user has given them.
    static void restore();

private:
    struct ForcedVariable {
        MpiControlVariable variable;
        int original, forced;
    };
    void set();

    static MpiAlgorithm* in_force;  // null: all variables have their original values
    std::vector<ForcedVariable> forced_;
    bool read_at_every_call_;
};

/// Why a named algorithm cannot be forced, or why the library would run another one in its place.
std::optional<std::string> mpi_algorithm_refuses(const LibraryCall& call, const World& world);

}  // namespace tutti
