#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what is wrong with the machine code of the GPU kernels in object files or archives.

inspect_device_code.py FILE... [--arch 80 --arch 90] [--kernels REGEX] [--at-least N]

Looks at every kernel whose name matches: none may use local memory (spilled registers), and each must
load and store 16 bytes of global memory in one instruction. Device code must not be compressed (nvcc
--no-compress). One line per fault, exit code 1 if there is any, or a kernel that was to be there is
not. Needs no GPU and none of CUDA's tools.
"""
import argparse
import re
import struct
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

EM_CUDA = 190
# An instruction has 16 bytes from compute capability 7.0 on; the opcode is in the lowest 12 bits.
LDG, STG = 0x981, 0x986                             # global memory, address in a register
LOCAL = {0x983: "LDL", 0x387: "STL", 0x987: "STL"}  # local memory
WIDTH = {5: 8, 6: 16}                               # bits 73 to 75: bytes of the access, up to 4 else


class Section(NamedTuple):
    name: str
    content: bytes


class Code(NamedTuple):
    arch: int
    kernel: str
    instructions: bytes


def elf_images(data: bytes) -> Iterator[bytes]:
    """Every 64-bit ELF file of EM_CUDA that lies in `data`, such as the fat binary of an object."""
    at = data.find(b"\x7fELF\x02\x01")
    while at >= 0:
        if struct.unpack_from("<H", data, at + 18)[0] == EM_CUDA:
            yield data[at:]
        at = data.find(b"\x7fELF\x02\x01", at + 1)


def architecture(image: bytes) -> int:
    """The compute capability times 10, as the flags of the header say it."""
    flags, version = struct.unpack_from("<I", image, 48)[0], image[8]
    return (flags >> 8) & 0xff if version >= 8 else flags & 0xff


def sections(image: bytes) -> list:
    table, = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]

    def content(header) -> bytes:
        return b"" if header[1] == 8 else image[header[4]:header[4] + header[5]]  # 8: no bits

    strings = content(headers[names])
    return [Section(strings[h[0]:strings.index(b"\0", h[0])].decode(), content(h)) for h in headers]


def kernels_in(data: bytes) -> Iterator[Code]:
    for image in elf_images(data):
        for section in sections(image):
            if section.name.startswith(".text."):
                yield Code(architecture(image), section.name[len(".text."):], section.content)


def faults_of(code: Code) -> list:
    wide = {LDG: 0, STG: 0}
    local = set()
    for low, high in struct.iter_unpack("<QQ", code.instructions):
        opcode = low & 0xfff
        if opcode in LOCAL:
            local.add(LOCAL[opcode])
        if opcode in wide and WIDTH.get((high >> 9) & 7) == 16:
            wide[opcode] += 1
    faults = [f"local memory is used ({name}): registers are spilled" for name in sorted(local)]
    faults += [f"no {name}.128: no access to 16 bytes at once"
               for opcode, name in ((LDG, "LDG"), (STG, "STG")) if wide[opcode] == 0]
    return [f"sm_{code.arch} {code.kernel}: {fault}" for fault in faults]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--arch", type=int, action="append", default=[])
    options.add_argument("--kernels", default=".")
    options.add_argument("--at-least", type=int, default=1, help="kernels of each architecture")
    args = options.parse_args()
    found = [code for file in args.files for code in kernels_in(file.read_bytes())
             if re.search(args.kernels, code.kernel)]
    faults = [fault for code in found for fault in faults_of(code)]
    for arch in args.arch:
        count = sum(code.arch == arch for code in found)
        print(f"sm_{arch}: {count} kernels")
        if count < args.at_least:
            faults.append(f"sm_{arch}: {count} kernels match, not {args.at_least}")
    print("\n".join(faults) if faults else "no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
