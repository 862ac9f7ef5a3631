// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// A setting of the running MPI library (a control variable of MPI's tool interface whose value is
/// a number). All of them are closed automatically when MPI ends.
class MpiControlVariable {
public:
    /// Returns nothing if the library has no such variable, or is not running.
    static std::optional<MpiControlVariable> find(const std::string& name);

    int value() const;
    void set(int value) const;

    /// A value for which the library has a name.
    struct Choice {
        std::string name;
        int value;
    };
    const std::vector<Choice>& choices() const { return choices_; }
    const std::string& description() const { return description_; }

private:
    struct Handle;
    std::shared_ptr<Handle> handle_;
    std::vector<Choice> choices_;
    std::string description_;
};

}  // namespace tutti
