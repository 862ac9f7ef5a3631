// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/printable.hpp"

#include <type_traits>

#include "topology/machine/machine_fields.hpp"

namespace tutti {
namespace {

struct Cleaner {
    template <class Part>
    void operator()(const char*, Part& part) {
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
        if constexpr (std::is_class_v<Part>) visit_fields(*this, part);
    }
};

}  // namespace

std::string printable(std::string_view text) {
    std::string safe;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
            safe += '?';
            ++i;
        } else {
            safe += byte < ' ' || byte == 0x7f ? '?' : text[i];
        }
    }
    return safe;
}

Host printable(Host host) {
    Cleaner().clean(host);
    return host;
}

Machine printable(Machine machine) {
    Cleaner().clean(machine);
    return machine;
}

}  // namespace tutti
