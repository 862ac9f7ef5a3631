#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lists C++ and CUDA files; source it in the root of the repository.

code_patterns=('*.cpp' '*.hpp' '*.cu' '*.cuh')

# Lists all files, including new ones that are not committed.
all_code() {
    git ls-files --cached --others --exclude-standard -- "${code_patterns[@]}" | while read -r file; do
        if [[ -e $file ]]; then echo "$file"; fi
    done
}

# Lists files that differ from the last commit.
changed_code() {
    git diff --name-only --diff-filter=d HEAD -- "${code_patterns[@]}"
    git ls-files --others --exclude-standard -- "${code_patterns[@]}"
}
