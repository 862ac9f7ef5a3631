# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Tutti(CMakePackage, CudaPackage):
    """Benchmark and tuning suite for collective communication, and a library that runs each call with the best algorithm."""

    homepage = "https://example.org/tutti"  # replace by the location of your source
    git = "https://example.org/tutti.git"

    license("Apache-2.0")
    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Run under MPI")
    variant("ucx", default=True, description="Use UCX directly")
    variant("nccl", default=False, when="+cuda", description="Use NCCL on GPUs, and compare with its collectives")
    variant("hwloc", default=True, description="Detect the topology by hwloc")
    variant("report", default=True, description="Reports and figures")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("fmt@9:")
    depends_on("tinyxml2")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("ucx", when="+ucx")
    depends_on("nccl", when="+nccl")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-numpy", type="run")
    depends_on("py-matplotlib", type="run", when="+report")

    def cmake_args(self):
        arguments = [self.define_from_variant(f"TUTTI_{name.upper()}", name) for name in ("mpi", "ucx", "nccl", "hwloc", "cuda")]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return [*arguments, self.define("TUTTI_TESTS", False), self.define("TUTTI_BENCHMARKS", False)]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.join("lib/python3/dist-packages"))
        env.set("TUTTI_PYTHON", self.spec["python"].command.path)
