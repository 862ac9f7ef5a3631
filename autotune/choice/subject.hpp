// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/types.hpp"
#include "collectives/execute/plan/buffer_kind.hpp"
#include "collectives/world/world.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Types that take the same time: `bytes` for collectives that only move data, where only sizes
/// count; `native` for types that the machine adds directly; `half` for types that it must widen
/// first.
enum class TypeClass { bytes, native, half };
template <>
struct NamesOf<TypeClass> {
    static constexpr const char* kind = "class of types";
    static constexpr Named<TypeClass> rows[] = {
        {TypeClass::bytes, "bytes"}, {TypeClass::native, "native"}, {TypeClass::half, "half"}};
};

/// Operations that take the same time. `average` needs another pass over the result.
enum class OpClass { none, plain, average };
template <>
struct NamesOf<OpClass> {
    static constexpr const char* kind = "class of operations";
    static constexpr Named<OpClass> rows[] = {
        {OpClass::none, "none"}, {OpClass::plain, "plain"}, {OpClass::average, "average"}};
};

constexpr TypeClass class_of(Collective collective, DataType type) {
    if (!reduces(collective)) return TypeClass::bytes;
    switch (type) {  // stored narrow, computed in float
        case DataType::half:
        case DataType::bfloat16:
        case DataType::fp8_e4m3:
        case DataType::fp8_e5m2:
            return TypeClass::half;
        default:
            return TypeClass::native;
    }
}
constexpr OpClass class_of(Collective collective, Op op) {
    if (!reduces(collective)) return OpClass::none;
    return op == Op::avg ? OpClass::average : OpClass::plain;
}

/// Calls that get the same choice at the same size.
struct Subject {
    Collective collective = Collective::all_reduce;
    TypeClass types = TypeClass::native;
    OpClass ops = OpClass::plain;
    BufferKind buffers = BufferKind::registered;
    auto operator<=>(const Subject&) const = default;
};

/// A type and an operation that represent the classes of a subject.
struct Representative {
    DataType type = DataType::float32;
    Op op = Op::sum;
};
Representative representative_of(const Subject& subject);

/// Returns "all_reduce native plain registered", without classes for collectives that only move
/// data.
std::string to_string(const Subject& subject);

/// The ranks that a choice is made for.
struct JobShape {
    int ranks = 1;
    int ranks_per_host = 1;  ///< on the host with the most ranks
    std::string
        topology;  ///< fingerprint of all hosts' structure (topology/machine/fingerprint.hpp)
    int hosts() const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
    auto operator<=>(const JobShape&) const = default;
};

/// Returns the job shape of a world's ranks, which is the key of tables. Collective: examines the
/// hosts, which takes milliseconds.
JobShape job_shape_of(World& world);

}  // namespace tutti
#pragma GCC visibility pop
