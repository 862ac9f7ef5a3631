// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/subject.hpp"

#include <fmt/format.h>

namespace tutti {

TypeClass class_of(Collective collective, DataType type) {
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

OpClass class_of(Collective collective, Op op) {
    if (!reduces(collective)) return OpClass::none;
    return op == Op::avg ? OpClass::average : OpClass::plain;
}

Representative representative_of(const Subject& subject) {
    return {.type = subject.types == TypeClass::half ? DataType::bfloat16 : DataType::float32,
            .op = subject.ops == OpClass::average ? Op::avg : Op::sum};
}

std::string to_string(const Subject& subject) {
    std::string text(name_of(subject.collective));
    if (reduces(subject.collective))
        text += fmt::format(" {} {}", name_of(subject.types), name_of(subject.ops));
    return fmt::format("{} {}", text, name_of(subject.buffers));
}

}  // namespace tutti
