// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/subject.hpp"

#include <fmt/format.h>

namespace tutti {

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
