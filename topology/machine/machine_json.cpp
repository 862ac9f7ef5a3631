// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <type_traits>

#include "topology/machine/machine.hpp"
#include "topology/machine/machine_fields.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

template <class Part>
Json json_of(Part& part);

Json json_of(std::string& text) { return text; }
Json json_of(std::int64_t& number) { return number; }
Json json_of(int& number) { return number; }
Json json_of(double& number) { return number; }
Json json_of(std::optional<int>& number) { return number ? Json(*number) : Json(); }

template <class Part>
Json json_of(std::vector<Part>& parts) {
    Json list = Json::array();
    for (Part& part : parts) list.push_back(json_of(part));
    return list;
}

struct Writer {
    Json object = Json::object();

    template <class Part>
    void operator()(const char* field, Part& part) {
        object[field] = json_of(part);
    }
};

template <class Part>
Json json_of(Part& part) {
    if constexpr (std::is_enum_v<Part>) {
        for (const auto& [choice, word] : words_for<Part>)
            if (choice == part) return word;
        return nullptr;
    } else {
        Writer writer;
        visit_fields(writer, part);
        return std::move(writer.object);
    }
}

}  // namespace

std::string to_json(const Machine& machine) {
    Writer writer;
    writer.object = {{"v", 1}, {"kind", "machine"}};
    Machine fields = machine;  // a visitor may write; this one does not
    visit_fields(writer, fields);
    // Names come from outside: bytes that are no UTF-8 are replaced rather than refused.
    return writer.object.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tutti
