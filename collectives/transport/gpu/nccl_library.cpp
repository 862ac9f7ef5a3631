// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include "base/source.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/nccl.hpp"

namespace tutti {
namespace {

std::string describe_version(int number) {
    return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

struct OtherNccl {
    std::string file;
    std::optional<NcclLibrary> library;
};
OtherNccl& other_nccl() {
    static OtherNccl other;
    return other;
}

}  // namespace

const NcclLibrary& NcclLibrary::linked() {
    static const NcclLibrary library(RTLD_DEFAULT);
    return library;
}

const NcclLibrary* NcclLibrary::other() {
    const auto& library = other_nccl().library;
    return library ? &*library : nullptr;
}

NcclLibrary::NcclLibrary(void* handle) : handle_(handle) {
    if (function<decltype(ncclGetVersion)>("ncclGetVersion")(&number_) != ncclSuccess) number_ = 0;
}

void* NcclLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

bool NcclLibrary::are_in_one_file(void* one, void* other) {
    Dl_info of_one{}, of_other{};
    return one != nullptr && dladdr(one, &of_one) != 0 && dladdr(other, &of_other) != 0 &&
           of_one.dli_fbase == of_other.dli_fbase;
}

void NcclLibrary::throw_without(const std::string& name) const {
    throw Error(
        fmt::format("NCCL {} has no {}; use NCCL 2.14 or later", describe_version(number_), name));
}

// Both libraries define the same names: RTLD_DEEPBIND lets this one use its own.
void load_other_nccl(const std::string& file) {
    if (const auto missing = nccl_missing()) throw Error(*missing);
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == nullptr)
        throw Error(
            fmt::format("--other-nccl {} cannot be loaded ({}); use the path of libnccl.so.2",
                        in_quotes(file, 200), printable(dlerror())));
    other_nccl().library = NcclLibrary(handle);
    other_nccl().file = file;
}

std::string describe_other_nccl() {
    const NcclLibrary* const other = NcclLibrary::other();
    if (other == nullptr) return "";
    return fmt::format("{}, {}", describe_version(other->number()), other_nccl().file);
}

std::optional<std::string> nccl_missing() { return gpus_missing(); }

std::string nccl_version() {
    const int number = NcclLibrary::linked().number();
    return number == 0 ? "none" : describe_version(number);
}

}  // namespace tutti
