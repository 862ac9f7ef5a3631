// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/printable.hpp"

#include <type_traits>

#include "topology/machine/machine_fields.hpp"

namespace tutti {
namespace {

struct Cleaner {
    template <class Part>
    void always(const char*, Part& part) {
        clean(part);
    }

    template <class Part>
    void may(const char*, Part& part, const std::type_identity_t<Part>& = {}) {
        clean(part);
    }

    void clean(std::string& text) { text = printable(std::string_view(text)); }

    template <class Part>
    void clean(std::vector<Part>& parts) {
        for (Part& part : parts) clean(part);
    }

    template <class Number>
    void clean(std::optional<Number>&) {}

    template <class Part>
    void clean(Part& part) {
        if constexpr (requires { walk(*this, part); }) walk(*this, part);
    }
};

}  // namespace

Host printable(Host host) {
    Cleaner().clean(host);
    return host;
}

Machine printable(Machine machine) {
    Cleaner().clean(machine);
    return machine;
}

}  // namespace tutti
