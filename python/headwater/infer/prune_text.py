"""What `headwater prune` writes beside copied sources: known calls, elementwise loops, build files, a page on how to build."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import headwater as hw

if TYPE_CHECKING:
    from .prune import Selection

_DTYPES = ("Bool", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64", "C64", "C128")
# One instruction set for everything. Highway wants AES with AVX2, which every such processor has.
_ARCH = {
    "avx2": "-mavx2 -mfma -mf16c -mbmi -mbmi2 -maes -mpclmul",
    "avx512": "-march=skylake-avx512 -mprefer-vector-width=512",
    "neon": "-march=armv8-a",
    "scalar": "",
}


def served(visit: str, selection: Selection) -> str:
    """core/visit.h with the cases of the models' dtypes alone: kernels hold code for no other."""
    kept = {_DTYPES[dtype] for dtype in selection.dtypes} | {"F32"}  # one at least, so that there is a type to return
    cases = re.compile(r"^ *case DType::(\w+): return .*\n", re.MULTILINE)
    if {case[1] for case in cases.finditer(visit)} != set(_DTYPES):
        raise RuntimeError("core/visit.h is not laid out as `headwater prune` reads it: a line for each dtype")
    return cases.sub(lambda case: case[0] if case[1] in kept else "", visit)


_CHOSEN = re.compile(r'^ *(?:case (DType::\w+): return|if \((?:\w+ == )(.*)\) return) .*\n', re.MULTILINE)


def chosen(source: str, selection: Selection) -> str:
    """A file that chooses its functions by dtype and operator, without the lines that no call of the models takes: the compiler then
    makes no code for what they name. F32 stays, in which others are calculated."""
    dtypes = selection.dtypes | {dtype for _, dtype in selection.reductions | selection.functors} | {_DTYPES.index("F32")}
    names = {f"DType::{_DTYPES[dtype]}" for dtype in dtypes} | {f'"{op}"' for op, _ in selection.kernels}

    def kept(line: re.Match[str]) -> str:
        named = re.findall(r'DType::\w+|"\w+"', line[1] or line[2])
        return line[0] if names.issuperset(named) else ""

    return _CHOSEN.sub(kept, source)


def kept_reductions(header: str, selection: Selection) -> str:
    """backends/cpu/reduce/kept.h that names the models' reductions alone."""
    kinds = [f"(int(kind) == {kind} && compute == DType::{_DTYPES[dtype]})" for kind, dtype in sorted(selection.reductions)]
    halves = [f"in == DType::{name}" for name in ("F16", "BF16") if _DTYPES.index(name) in selection.dtypes]
    kept, loaded = (" || ".join(terms) or "false" for terms in (kinds, halves))
    answers = {
        "reduction_kept(ReduceKind, DType) { return true; }":
            f"reduction_kept([[maybe_unused]] ReduceKind kind, [[maybe_unused]] DType compute) {{\n  return {kept};\n}}",
        "reduced_from(DType) { return true; }": f"reduced_from([[maybe_unused]] DType in) {{ return {loaded}; }}",
    }  # fmt: skip
    for all_of_them, some in answers.items():
        if all_of_them not in header:
            raise RuntimeError("backends/cpu/reduce/kept.h is not written as `headwater prune` reads it")
        header = header.replace(all_of_them, some)
    return header


def known_calls(selection: Selection) -> str:
    rows = []
    for digest in sorted(selection.digests):
        rows.append("    {" + ", ".join(f"0x{digest[i : i + 2]}" for i in range(0, 64, 2)) + "},")
    return (
        f"// The kernel calls of {', '.join(selection.models)}.\n"
        '#include "infer/pruned/pruned.h"\n\n'
        "namespace hw {\n"
        "const Sha256 kKnownCalls[] = {\n" + "\n".join(rows or ["    {}"]) + "\n};\n"
        f"const size_t kNumKnownCalls = {len(rows)};\n"
        "}  // namespace hw\n"
    )


def loops(selection: Selection, functors: dict[str, tuple[str, str]]) -> str:
    """The elementwise loops that are used, each in the dtypes in which it computes."""
    chosen = sorted(selection.functors)
    headers = sorted({functors[name][1] for name, _ in chosen})
    lines = [
        f"  add_functor<functors::{functors[name][0]}, dtype_bit(DType::{_DTYPES[dtype]}), false>(add);" for name, dtype in chosen
    ]
    named = [f'  register_elementwise_kernel("{op}", "simd", 10, &prepare_elementwise);' for op in sorted(selection.named)]
    return "\n".join(
        [
            "// The elementwise loops that the models use.",
            '#include "kernels/simd/targets.h"',
            "",
            "#undef HWY_TARGET_INCLUDE",
            '#define HWY_TARGET_INCLUDE "pruned_elementwise.cpp"',
            '#include "hwy/foreach_target.h"  // must come before highway.h',
            *[f'#include "{header}"' for header in headers],
            '#include "kernels/elementwise/driver.h"',
            '#include "kernels/elementwise/make_loops.h"',
            "",
            "HWY_BEFORE_NAMESPACE();",
            "namespace hw {",
            "namespace HWY_NAMESPACE {",
            "void fill_pruned(AddElementwise add) {",
            *lines,
            "}",
            "}  // namespace HWY_NAMESPACE",
            "}  // namespace hw",
            "HWY_AFTER_NAMESPACE();",
            "",
            "#if HWY_ONCE",
            "namespace hw {",
            "HWY_EXPORT(fill_pruned);",
            "static const RegisterElementwise registered([](AddElementwise add) { HWY_DYNAMIC_DISPATCH(fill_pruned)(add); });",
            "// Operators that run on functors of another name.",
            "static const bool named = [] {",
            *named,
            "  return true;",
            "}();",
            "}  // namespace hw",
            "#endif",
            "",
        ]
    )


_CMAKE = """\
# The inference runtime for @MODELS@, and nothing else: libheadwater_infer.so and libheadwater_infer.a for @TARGET@ (@ISA@).
#   cmake -B build && cmake --build build
cmake_minimum_required(VERSION 3.20)
@TOOLCHAIN@project(headwater_infer_pruned LANGUAGES C CXX)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)

# Objects: kernels register themselves, and from a static library a linker would drop them.
add_library(runtime OBJECT
@SOURCES@)
target_include_directories(runtime PRIVATE src)
target_include_directories(runtime SYSTEM PRIVATE third_party)
target_compile_definitions(runtime PRIVATE HEADWATER_VERSION="@VERSION@"
                                           HWY_COMPILE_ONLY_STATIC HWY_BROKEN_EMU128=1)
# -ffp-contract=off: the bits of the complete library.
target_compile_options(runtime PRIVATE @ARCH@-ffunction-sections -fdata-sections -fvisibility=hidden -fno-rtti -fno-gnu-unique
                       -fno-math-errno -ffp-contract=off -fno-semantic-interposition -Wno-unknown-pragmas)
target_link_libraries(runtime PRIVATE OpenMP::OpenMP_CXX)
set_source_files_properties(
@KERNELS@  PROPERTIES COMPILE_OPTIONS "-O2;-ftree-vectorize")

add_library(headwater_infer SHARED $<TARGET_OBJECTS:runtime>)
target_link_libraries(headwater_infer PRIVATE OpenMP::OpenMP_CXX Threads::Threads)
target_link_options(headwater_infer PRIVATE -Wl,--gc-sections -Wl,-Bsymbolic -Wl,-z,defs -s
                    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map)

# One object, whose unused sections the program's linker drops (-Wl,--gc-sections). Groups are dissolved, so that names which become
# local are no longer those for which a linker drops the copies of libstdc++.
set(object ${CMAKE_BINARY_DIR}/headwater_infer.o)
set(archive ${CMAKE_BINARY_DIR}/libheadwater_infer.a)
add_custom_command(OUTPUT ${archive}
                   COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} "$<JOIN:$<TARGET_OBJECTS:runtime>,;>"
                   COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=hwi_* ${object}
                   COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
                   COMMAND ${CMAKE_AR} rcs ${archive} ${object}
                   DEPENDS $<TARGET_OBJECTS:runtime> COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(headwater_infer_static ALL DEPENDS ${archive})

# The example: loads a model, runs its tests, times it.
foreach(kind shared static)
  add_executable(run-${kind} run.c)
  target_include_directories(run-${kind} PRIVATE include)
endforeach()
target_link_libraries(run-shared PRIVATE headwater_infer)
add_dependencies(run-static headwater_infer_static)
target_link_options(run-static PRIVATE -static -Wl,--gc-sections -s)
target_link_libraries(run-static PRIVATE ${archive} stdc++ gomp pthread m)
"""

_TOOLCHAIN = """\
# A cross compiler by Debian's names, unless another toolchain is given or this machine is one.
if(NOT CMAKE_TOOLCHAIN_FILE AND NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL @TARGET@)
  set(CMAKE_TOOLCHAIN_FILE ${CMAKE_CURRENT_SOURCE_DIR}/toolchain.cmake)
endif()
"""

_TOOLCHAIN_FILE = """\
# Debian's cross compiler: apt-get install g++-@GNU@-linux-gnu qemu-user
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR @TARGET@)
set(CMAKE_C_COMPILER @GNU@-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER @GNU@-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/@GNU@-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-@TARGET@ -L /usr/@GNU@-linux-gnu)
"""

_README = """\
# The inference runtime for @MODELS@

Written by `headwater prune` (Headwater @VERSION@) for @TARGET@, instruction set @ISA@. The folder needs nothing from outside but a C++20
compiler (g++ 12 or newer) and CMake 3.20:

    cmake -B build && cmake --build build -j

gives `build/libheadwater_infer.so`, `build/libheadwater_infer.a` and two programs from `run.c`, of which `run-static` needs no library at
run time:

    @RUN@build/run-static model.hwm

The interface is `include/headwater_infer.h`. Inside are the kernels of: @OPS@.
Element types: @DTYPE_NAMES@. A model with any other kernel call is refused with HWI_INVALID and the name of the call; a model of the
same architecture that was trained anew is accepted.
"""


def _filled(template: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        template = template.replace(f"@{key}@", value)
    return template


def project(selection: Selection, compiled: list[str], target: str, isa: str) -> dict[str, str]:
    """The files of the project beside its sources."""
    kernels = [name for name in compiled if name.startswith(("kernels/", "backends/", "pruned_elementwise"))]
    cross = target != "x86_64"
    values = {
        "TOOLCHAIN": _TOOLCHAIN if cross else "",
        "RUN": f"qemu-{target} " if cross and os.uname().machine != target else "",
        "MODELS": ", ".join(selection.models),
        "TARGET": target,
        "GNU": target,
        "ISA": isa,
        "SOURCES": "".join(f"  src/{name}\n" for name in compiled),
        "KERNELS": "".join(f"  src/{name}\n" for name in kernels),
        "VERSION": hw.__version__,
        "DTYPE_NAMES": ", ".join(_DTYPES[dtype].lower() for dtype in sorted(selection.dtypes)),
        "OPS": ", ".join(sorted({op for op, _ in selection.kernels} | {name for name, _ in selection.functors})),
        "ARCH": f"{_ARCH[isa]} " if _ARCH[isa] else "",
    }
    files = {
        "CMakeLists.txt": _filled(_CMAKE, values),
        "README.md": _filled(_README, values),
        "exports.map": "{ global: hwi_*; local: *; };\n",
    }
    if cross:
        files["toolchain.cmake"] = _filled(_TOOLCHAIN_FILE, values)
    return files
