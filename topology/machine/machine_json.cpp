// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "topology/machine/machine.hpp"
#include "topology/machine/machine_fields.hpp"

namespace tutti {

std::string to_json(const Machine& machine) {
    JsonWriter writer{.object = {{"v", 1}, {"kind", "machine"}}};
    walk(writer, machine);
    return writer.object.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tutti
