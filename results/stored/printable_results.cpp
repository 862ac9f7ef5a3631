// SPDX-License-Identifier: Apache-2.0
#include "results/stored/printable_results.hpp"

#include "results/records/record_fields.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

// Goes through the fields of records as writers and readers of JSON do.
struct Printable {
    void must(const char*, auto& value) { repair(value); }
    void may(const char*, auto& value, const auto&...) { repair(value); }

    void repair(std::string& text) { text = in_line(text); }
    template <class Value>
    void repair(std::optional<Value>& value) {
        if (value) repair(*value);
    }
    template <class Value>
    void repair(std::vector<Value>& values) {
        for (Value& value : values) repair(value);
    }
    void repair(TextByName& texts) {
        TextByName repaired;
        for (const auto& [name, text] : texts) repaired.emplace(in_line(name), in_line(text));
        texts = std::move(repaired);
    }
    void repair(auto& value) {
        if constexpr (requires { walk(*this, value); }) walk(*this, value);
    }
};

}  // namespace

void make_printable(Results& results) {
    std::apply([](auto&... lists) { (Printable{}.repair(lists), ...); }, lists_of(results));
}

}  // namespace tutti
