"""A declared op as text: signature, attributes, traits, kernels, where it stands, what it means."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.core.modules import late
from headrace.ops.declaration.declare import GRADIENTS, Op
from headrace.ops.declaration.signature import REQUIRED, Arg, Attr
from headrace.ops.declaration.traits import CONTROL_FLOW, Trait

array_ops = late("headrace.codegen.regions.array_ops")


def describe_op(op: Op) -> list[str]:
    inputs = ", ".join(_arg(arg) for arg in op.signature.inputs)
    outputs = ", ".join(_arg(arg) for arg in op.signature.outputs)
    lines = [f"{op.name}: {inputs} -> {outputs}".replace(":  ->", ": ->").rstrip()]
    if op.reference is not None and op.__doc__:
        lines += ["", *(f"  {line}".rstrip() for line in op.__doc__.splitlines())]
    if op.signature.attrs:
        lines += ["", "attributes"]
        width = max(map(len, op.signature.attrs))
        lines += [f"  {n:<{width}}  {_attr(a)}" for n, a in op.signature.attrs.items()]
    if op.traits:
        lines += ["", "traits"]
        width = max(len(trait.name) for trait in op.traits)
        lines += [f"  {t.name:<{width}}  {t.value}" for t in Trait if t in op.traits]
    lines += ["", "kernels", *(f"  {line}" for line in _kernels(op))]
    lines += ["", f"gradient  {_gradient(op)}"]
    lines += [f"declared  {_place(op)}"]
    if op.deprecated:
        lines.append(f"deprecated since GraphDef version {op.deprecated[0]}: {op.deprecated[1]}")
    return lines


def _arg(arg: Arg) -> str:
    kind = arg.dtype.name if arg.dtype is not None else arg.type_attr or arg.list_attr or "?"
    if arg.number_attr:
        kind = f"{arg.number_attr}*{kind}"
    return f"{arg.name}: Ref({kind})" if arg.is_ref else f"{arg.name}: {kind}"


def _attr(attr: Attr) -> str:
    parts = [attr.kind]
    if attr.default is not REQUIRED:
        parts.append(f"= {_value(attr.default)}")
    if attr.min is not None:
        parts.append(f">= {attr.min}" if not attr.is_list else f"of at least {attr.min}")
    if attr.allowed is not None:
        parts.append("in " + ", ".join(map(_value, attr.allowed)))
    return " ".join(parts)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(getattr(value, "name", None) or repr(value))


def _kernels(op: Op) -> list[str]:
    """Who can run it.  Which of them does, for given shapes, `headrace explain` says."""
    lines = []
    if CONTROL_FLOW in op.traits:
        lines.append("the executor itself (control flow)")
    elif op.reference is not None:
        lines.append("reference: NumPy" + (", with the step's context" * op.wants_context))
    if op.lower_rule is not None:
        lines.append("compiled: a rule of its own, to loops")
    if op.region_role in array_ops.RULES:
        lines.append("compiled: as memory of the program")
    lines += [f"library: {name}, or a generated kernel in its place" for name in op.library_rules]
    return lines or ["none"]


def _gradient(op: Op) -> str:
    if CONTROL_FLOW in op.traits:
        return "of the loop or conditional as a whole"
    if op.name not in GRADIENTS:
        return "none is declared: asking for it is an error"
    return "none: gradients end here" if GRADIENTS[op.name] is None else "declared in its block"


def _place(op: Op) -> str:
    """The module, and the line of the body where there is one."""
    if op.reference is None:
        return "without a body"
    line = inspect.unwrap(op.reference).__code__.co_firstlineno
    return f"{op.__module__}, line {line}"
