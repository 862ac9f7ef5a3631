// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/types.hpp"
#include "collectives/execute/plan/buffer_kind.hpp"
#include "collectives/world/world.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Types that take the same time: `bytes` where nothing is added up, so that only sizes count;
/// `native` for what the machine adds by itself; `half` for what it has to widen first.
enum class TypeClass { bytes, native, half };
template <>
struct NamesOf<TypeClass> {
    static constexpr const char* kind = "class of types";
    static constexpr Named<TypeClass> rows[] = {
        {TypeClass::bytes, "bytes"}, {TypeClass::native, "native"}, {TypeClass::half, "half"}};
};

/// Operations that take the same time. `average` passes over the result once more.
enum class OpClass { none, plain, average };
template <>
struct NamesOf<OpClass> {
    static constexpr const char* kind = "class of operations";
    static constexpr Named<OpClass> rows[] = {
        {OpClass::none, "none"}, {OpClass::plain, "plain"}, {OpClass::average, "average"}};
};

TypeClass class_of(Collective collective, DataType type);
OpClass class_of(Collective collective, Op op);

/// What a choice is made for, but for the size: calls that are answered alike.
struct Subject {
    Collective collective = Collective::all_reduce;
    TypeClass types = TypeClass::native;
    OpClass ops = OpClass::plain;
    BufferKind buffers = BufferKind::registered;
    auto operator<=>(const Subject&) const = default;
};

/// A type and an operation that stand for the classes of a subject.
struct Representative {
    DataType type = DataType::float32;
    Op op = Op::sum;
};
Representative representative_of(const Subject& subject);

/// "all_reduce native plain registered", without classes where nothing is added up.
std::string to_string(const Subject& subject);

/// The ranks that a choice is made on.
struct JobShape {
    int ranks = 1;
    int ranks_per_host = 1;  ///< of the fullest host
    std::string
        topology;  ///< fingerprint of all hosts' structure (topology/machine/fingerprint.hpp)
    auto operator<=>(const JobShape&) const = default;
};

/// The job shape of a world's ranks, by which tables are looked up. Collective: the hosts are
/// looked at, which takes milliseconds.
JobShape job_shape_of(World& world);

}  // namespace tutti
#pragma GCC visibility pop
