// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/detect.hpp"
#include "topology/detect/sysfs_host.hpp"

namespace tutti {

Host detect_structure() { return read_sysfs_host("/"); }

}  // namespace tutti
