// SPDX-License-Identifier: Apache-2.0
// A library needs a source; what matters is what it precompiles (compile_time.cmake).
