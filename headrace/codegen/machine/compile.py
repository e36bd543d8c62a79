"""LLVM IR text -> machine code in memory.  In: a module's text.  Out: object bytes; addresses of
their functions.  One lock around LLVM: its library serialises calls anyway."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from headrace.codegen.machine.target import host

_lock = threading.RLock()


def to_object(text: str) -> bytes:
    """Verify, optimise and compile one module."""
    import llvmlite.binding as llvm

    machine = host().machine
    with _lock:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
        tuning = llvm.create_pipeline_tuning_options(speed_level=1)
        builder = llvm.create_pass_builder(machine, tuning)
        if "alwaysinline" in text:
            inliner = llvm.create_new_module_pass_manager()
            inliner.add_always_inliner_pass()
            inliner.run(module, builder)
        functions = llvm.create_new_function_pass_manager()
        functions.add_sroa_pass()
        functions.add_instruction_combine_pass()
        functions.add_simplify_cfg_pass()
        for function in module.functions:
            if not function.is_declaration:
                functions.run(function, builder)
        return bytes(machine.emit_object(module))


@cache
def _linker() -> Any:  # llvmlite is not typed
    import llvmlite.binding as llvm

    host()
    return llvm.create_lljit_compiler(use_jit_link=False)


_libraries: list[object] = []  # keeps the code alive
_numbers = itertools.count()  # a name is used up even if linking fails


def load(data: bytes, symbol: str, imports: Mapping[str, int] | None = None) -> int:
    """The address of `symbol` in the object, linked into this process.  `imports` are the addresses
    of functions that the process does not show by name."""
    import llvmlite.binding as llvm

    with _lock:
        builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
        for name, address in (imports or {}).items():
            builder = builder.import_symbol(name, address)
        library = builder.export_symbol(symbol).link(_linker(), f"lib{next(_numbers)}")
        _libraries.append(library)
        return int(library[symbol])
