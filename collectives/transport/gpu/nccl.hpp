// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Returns why this build has no NCCL, and how to get it; nothing if it has.
std::optional<std::string> nccl_missing();

/// Returns the version of the NCCL that the program is linked with, e.g. "2.28.9"; "none" without.
std::string nccl_version();

/// Loads a second NCCL, which has nothing in common with the one that the program is linked with.
/// Call it before the ranks start. Throws Error if the file is no NCCL.
void load_other_nccl(const std::string& file);

/// Returns its version and file, e.g. "2.31.2, /opt/nccl/lib/libnccl.so.2"; empty without it.
std::string describe_other_nccl();

/// An NCCL library of this process. Its functions are found by their names, as versions have
/// different ones.
class NcclLibrary {
public:
    /// The library that the program is linked with.
    static const NcclLibrary& linked();
    /// The one of load_other_nccl(); null if that was not called.
    static const NcclLibrary* other();

    /// Returns the version as one number: 22809 for 2.28.9; 0 if it is unknown.
    int number() const { return number_; }

    /// Returns the function; null if the library lacks it.
    template <class Function>
    Function* find(const std::string& name) const {
        return reinterpret_cast<Function*>(symbol(name.c_str()));
    }
    /// The same for a function of the same file as `neighbour`: another library may have replaced
    /// that one.
    template <class Function, class Neighbour>
    Function* find_next_to(Neighbour* neighbour, const std::string& name) const {
        Function* const found = find<Function>(name);
        return are_in_one_file(reinterpret_cast<void*>(found), reinterpret_cast<void*>(neighbour))
                   ? found
                   : nullptr;
    }
    /// Returns the function. Throws Error if the library lacks it.
    template <class Function>
    Function* function(const std::string& name) const {
        if (Function* const found = find<Function>(name)) return found;
        throw_without(name);
    }

private:
    explicit NcclLibrary(void* handle);

    void* symbol(const char* name) const;
    static bool are_in_one_file(void* one, void* other);
    [[noreturn]] void throw_without(const std::string& name) const;
    friend void load_other_nccl(const std::string& file);

    void* handle_;
    int number_ = 0;
};

/// Settings of a communicator of NCCL.
struct NcclSettings {
    std::map<std::string, std::string> environment = {};  ///< variables, only while it is made
    int most_channels = 0;                                ///< 0: as NCCL chooses
    auto operator<=>(const NcclSettings&) const = default;
};

/// Returns why NCCL cannot join these ranks: no GPU, two ranks on one GPU, or NCCL's own reason if
/// it makes no communicator within the world's deadline. The same on all ranks; determined once, by
/// a collective call. Throws Error if a rank is lost or late meanwhile.
std::optional<std::string> nccl_refuses(World& world);
std::optional<std::string> nccl_refuses(World& world, const NcclLibrary& library,
                                        const NcclSettings& settings = {});

/// An NCCL communicator of these ranks. No call blocks in the library: NCCL's calls run
/// asynchronously, and are polled until they complete or time out.
class NcclRanks {
public:
    virtual ~NcclRanks() = default;

    /// Returns the communicator, made by the first call of nccl_refuses() and kept as long as the
    /// world. Throws Error if NCCL refuses. The first call is collective.
    static NcclRanks& of(World& world, const NcclLibrary& library = NcclLibrary::linked(),
                         const NcclSettings& settings = {});
    /// Makes another communicator, for calls after which it may be unusable. The rest is the same.
    static std::unique_ptr<NcclRanks> make(World& world, const NcclLibrary& library);

    /// Describes a request to NCCL, for error messages.
    using What = std::function<std::string()>;

    /// Enqueues an NCCL operation after the earlier work of the stream (a cudaStream_t). `call`
    /// gets the communicator and returns an ncclResult_t. Returns when NCCL has enqueued it; throws
    /// Error if it fails (usage if NCCL refuses an argument), or takes longer than the world's
    /// deadline. No operation is possible after that.
    virtual void ask(const What& what, const std::function<int(void* communicator)>& call) = 0;

    /// Throws Error (rank_lost) with NCCL's text if an asynchronous error has occurred; aborts the
    /// communicator first, so that no rank waits for it.
    virtual void throw_if_failed(const What& what) = 0;

    /// Aborts pending operations: otherwise the GPU would wait for them, and the host for the GPU
    /// when it frees memory. No operation is possible after that.
    virtual void give_up() = 0;
};

/// Groups of ncclSend and ncclRecv between GPU memory, in the order of the plan's queue.
std::unique_ptr<MessageTransport> nccl_transport(World& world);

}  // namespace tutti
