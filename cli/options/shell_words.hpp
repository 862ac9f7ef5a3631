// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// The words of a command in one option ("mpirun -n 2"), quoted as for a shell: between single
/// quotes all is literal, between double quotes all but a backslash before one of "\$`, outside of
/// quotes a backslash takes the next character's meaning away. Nothing is expanded. Throws Error if
/// a quote has no end.
std::vector<std::string> shell_words(std::string_view text);

}  // namespace tutti
