#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which C++ and CUDA files there are; to be sourced in the root of the repository.

code_patterns=('*.cpp' '*.hpp' '*.cu' '*.cuh')

# All files of ours, also new ones that are not committed yet.
all_code() {
    git ls-files --cached --others --exclude-standard -- "${code_patterns[@]}" | while read -r file; do
        if [[ -e $file ]]; then echo "$file"; fi
    done
}

# Files that differ from the last commit.
changed_code() {
    git diff --name-only --diff-filter=d HEAD -- "${code_patterns[@]}"
    git ls-files --others --exclude-standard -- "${code_patterns[@]}"
}
