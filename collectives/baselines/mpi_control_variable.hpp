// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// One of the MPI library's own settings while it runs (a control variable of MPI's tool interface
/// whose value is a number). All of them are closed by themselves when MPI ends.
class MpiControlVariable {
public:
    /// Nothing if the library has no such number, or does not run.
    static std::optional<MpiControlVariable> find(const std::string& name);

    int value() const;
    void set(int value) const;

    /// A value that the library has a name for.
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
