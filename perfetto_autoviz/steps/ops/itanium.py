"""Reads mangled C++ names, into the same trees as demangled ones.

Follows the Itanium C++ ABI (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling)
as far as names of GPU kernels use it: expressions other than the address of a function,
and ``decltype``, are left out. A name that needs more is read in a simpler way: its
length-prefixed identifiers still tell which function it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perfetto_autoviz.steps.ops.cursor import Cursor, UnsupportedError
from perfetto_autoviz.steps.ops.node import LAMBDA, NameTooDeepError, Node, Part

if TYPE_CHECKING:
    from collections.abc import Callable

_BUILTINS = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "w": "wchar_t",
    "z": "...",
    "Dh": "_Float16",
    "Du": "char8_t",
    "Dn": "decltype(nullptr)",
    "Da": "auto",
}
_STD = {"St": (), "Sa": ("allocator",), "Sb": ("basic_string",), "Ss": ("string",)}
_INTERNAL_NAMESPACE = re.compile(r"_GLOBAL__N_")  # 12_GLOBAL__N_1, the anonymous one
_SEQUENCE = re.compile(r"([0-9A-Z]*)_")
_DIGITS = re.compile(r"\d{1,5}")
_ENTITY = re.compile(r"(\d{0,6})_")
_LITERAL = re.compile(r"(n?[0-9a-f]*)E")
_FLOAT16 = re.compile(r"DF(\d{1,3})([_bx])")  # DF16_ is _Float16, DF16b is bfloat16
_DISCRIMINATOR = re.compile(r"_\d(?!\d)")
_LONG_DISCRIMINATOR = re.compile(r"\d+_")
_ARRAY = re.compile(r"A\d*_")
_VECTOR = re.compile(r"Dv\d+_")
_SUFFIX = re.compile(r"(\.kd|\.intern\.[0-9a-f]+|\.num_\w+|\.private_\w+)+$")


def is_mangled(name: str) -> bool:
    """Whether the name looks mangled."""
    return name.startswith(("_Z", "__Z"))


def parse_itanium(name: str) -> Node:
    """Reads one mangled name.

    Args:
        name: the name, with or without the suffixes of AMD code objects (``.kd``).

    Returns:
        The function, without its parameters; without parts if it cannot be read at all.
    """
    text = _SUFFIX.sub("", name.removeprefix("_") if name.startswith("__Z") else name)
    try:
        return _Parser(text).kernel()
    except (UnsupportedError, NameTooDeepError, IndexError):
        return _function_only(text)


class _Parser(Cursor):
    """The grammar: what was read so far decides what substitutions and parameters stand for."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.substitutions: list[tuple[Part, ...]] = []
        self.template_args: tuple[Node, ...] = ()

    def kernel(self) -> Node:
        """The function's name; its own parameters are of no interest and not read."""
        self.expect("_Z")
        return Node(self._name())

    # --- names ---

    def _name(self) -> tuple[Part, ...]:
        if self.takes("N"):
            return self._nested()
        if self.takes("Z"):
            return self._local()
        if self.peek("St"):
            self.at += 2
            parts: tuple[Part, ...] = (Part("std"), self._unqualified())
        elif self.peek("S"):
            parts = self._substitution()
            if self.peek("I"):
                return self._with_args(parts)
            return parts
        else:
            parts = (self._unqualified(),)
        if self.peek("I"):
            self.substitutions.append(parts)
            return self._with_args(parts)
        return parts

    def _nested(self) -> tuple[Part, ...]:
        while self.takes("r") or self.takes("V") or self.takes("K"):
            pass
        _ = self.takes("R") or self.takes("O")
        parts: tuple[Part, ...] = ()
        while not self.takes("E"):
            if self.peek("S") and not parts:
                parts = self._std() if self.peek("St") else self._substitution()
                continue
            if self.peek("T") and not parts:
                parts = self._template_param()
            elif self.peek("I"):
                parts = self._with_args(parts)
            else:
                parts = (*parts, self._unqualified())
            if not self.peek("E"):
                self.substitutions.append(parts)
        return parts

    def _std(self) -> tuple[Part, ...]:
        self.at += 2
        return (Part("std"),)

    def _local(self) -> tuple[Part, ...]:
        """A name within a function: ``Z <function> E <name>``."""
        self.go_deeper()
        function = self._name()
        while not self.takes("E"):
            self._type()
        if self.takes("s"):
            return (*function, Part("string literal"))
        entity = self._name()
        self._discriminator()
        self.depth -= 1
        return (*function, *entity)

    def _discriminator(self) -> None:
        if self.takes("__"):
            self.match(_LONG_DISCRIMINATOR)
        elif _DISCRIMINATOR.match(self.text, self.at):
            self.at += 2

    def _unqualified(self) -> Part:
        _ = self.takes("L")
        char = self.text[self.at]
        if char.isdigit():
            part = Part(self._source_name())
        elif char == "U":
            part = self._unnamed()
        elif char in "CD" and self.text[self.at + 1].isdigit():
            self.at += 2
            part = Part("constructor" if char == "C" else "destructor")
        elif char.islower():
            part = self._operator()
        else:
            raise UnsupportedError
        while self.takes("B"):
            self._source_name()
        return part

    def _source_name(self) -> str:
        length = int(self.match(_DIGITS)[0])
        ident = self.text[self.at : self.at + length]
        if len(ident) < length or not length:
            raise UnsupportedError
        self.at += length
        return "" if _INTERNAL_NAMESPACE.match(ident) else ident

    def _unnamed(self) -> Part:
        if self.takes("Ul"):
            params: list[Node] = []
            while not self.takes("E"):
                params.append(self._type())
        else:
            self.expect("Ut")
            params = []
        number = self.match(_ENTITY)[1]
        shown = tuple(p for p in params if p.parts != (Part("void"),))
        return Part(LAMBDA, (), shown, int(number) + 2 if number else 1)

    def _operator(self) -> Part:
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code == "cv":
            self._type()
            return Part("operator conversion")
        return Part("operator()" if code == "cl" else f"operator {code}")

    def _with_args(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        args = self._args()
        if not parts:
            raise UnsupportedError
        last = parts[-1]
        return (*parts[:-1], Part(last.ident, args, last.params, last.number))

    def _args(self) -> tuple[Node, ...]:
        self.expect("I")
        self.go_deeper()
        args: list[Node] = []
        while not self.takes("E"):
            args.extend(self._arg())
        self.depth -= 1
        self.template_args = tuple(args)
        return self.template_args

    def _arg(self) -> list[Node]:
        if self.takes("Tn"):  # the declared type of what follows
            self._type()
            return self._arg()
        if self.takes("J"):
            pack: list[Node] = []
            while not self.takes("E"):
                pack.extend(self._arg())
            return pack
        if self.peek("L"):
            return [self._literal()]
        if self.takes("X"):
            self.expect("ad")
            node = self._literal() if self.peek("L") else self._type()
            self.expect("E")
            return [node]
        return [self._type()]

    def _literal(self) -> Node:
        self.expect("L")
        if self.takes("_Z"):  # the address of a function
            node = Node(self._name())
            while not self.takes("E"):
                self._type()
            return node
        kind = self._type()
        value = self.match(_LITERAL)[1].replace("n", "-")
        if kind.parts == (Part("bool"),):
            return Node((), "true" if value == "1" else "false")
        builtin = len(kind.parts) == 1 and kind.parts[0].ident in _BUILTINS.values()
        return Node(() if builtin else kind.parts, value)

    # --- types ---

    def _type(self) -> Node:
        self.go_deeper()
        node = self._type_within()
        self.depth -= 1
        return node

    def _type_within(self) -> Node:
        char = self.text[self.at]
        read = _TYPE_READERS.get(char)
        if read is not None:
            return read(self)
        if char == "S" and not self.peek("St"):
            return self._substituted_type()
        if char in _BUILTINS:
            self.at += 1
            return Node((Part(_BUILTINS[char]),))
        return self._substitutable(self._name())

    def _pointer(self) -> Node:
        self.at += 1
        return self._substitutable(self._type().parts)

    def _member_pointer(self) -> Node:
        self.at += 1
        self._type()
        return self._substitutable(self._type().parts)

    def _vendor_type(self) -> Node:
        self.at += 1
        return self._substitutable((Part(self._source_name()),))

    def _param_type(self) -> Node:
        parts = self._template_param()
        self.substitutions.append(parts)
        if self.peek("I"):
            parts = self._with_args(parts)
            self.substitutions.append(parts)
        return Node(parts)

    def _substituted_type(self) -> Node:
        parts = self._substitution()
        if self.peek("I"):
            return self._substitutable(self._with_args(parts))
        return Node(parts)

    def _qualified(self) -> Node:
        while self.text[self.at] in "rVK":
            self.at += 1
        return self._substitutable(self._type().parts)

    def _function_type(self) -> Node:
        self.at += 1
        _ = self.takes("Y")
        while not self.takes("E"):
            self._type()
        return self._substitutable((Part("function"),))

    def _array(self) -> Node:
        self.match(_ARRAY)
        return self._substitutable(self._type().parts)

    def _d_type(self) -> Node:
        two = self.text[self.at : self.at + 2]
        if two == "DF":
            match = self.match(_FLOAT16)
            return Node((Part("__bf16" if match[2] == "b" else f"_Float{match[1]}"),))
        if two == "Dp":
            self.at += 2
            return self._substitutable(self._type().parts)
        if two == "Dv":
            self.match(_VECTOR)
            return self._substitutable(self._type().parts)
        if two in _BUILTINS:
            self.at += 2
            return Node((Part(_BUILTINS[two]),))
        raise UnsupportedError

    def _substitutable(self, parts: tuple[Part, ...]) -> Node:
        self.substitutions.append(parts)
        return Node(parts)

    def _template_param(self) -> tuple[Part, ...]:
        self.expect("T")
        number = self.match(_SEQUENCE)[1]
        index = int(number, 36) + 1 if number else 0
        if index < len(self.template_args) and self.template_args[index].value is None:
            return self.template_args[index].parts
        return (Part("T"),)

    def _substitution(self) -> tuple[Part, ...]:
        two = self.text[self.at : self.at + 2]
        if two in _STD:
            self.at += 2
            return (Part("std"), *(Part(ident) for ident in _STD[two]))
        self.expect("S")
        number = self.match(_SEQUENCE)[1]
        index = int(number, 36) + 1 if number else 0
        return self.substitutions[index]


_TYPE_READERS: dict[str, Callable[[_Parser], Node]] = {
    **dict.fromkeys("rVK", _Parser._qualified),
    **dict.fromkeys("PRO", _Parser._pointer),
    "F": _Parser._function_type,
    "A": _Parser._array,
    "M": _Parser._member_pointer,
    "D": _Parser._d_type,
    "T": _Parser._param_type,
    "u": _Parser._vendor_type,
}
"""How types are read that begin with these letters."""

_PREFIX = re.compile(r"_ZN?(?:[KVrRO]*)(?:St)?")


def _function_only(text: str) -> Node:
    """The components in front of the first template argument, by their lengths alone."""
    match = _PREFIX.match(text)
    if match is None:
        return Node(())
    at = match.end()
    parts: list[Part] = []
    while (digits := _DIGITS.match(text, at)) is not None:
        at = digits.end() + int(digits[0])
        ident = text[digits.end() : at]
        parts.append(Part("" if _INTERNAL_NAMESPACE.match(ident) else ident))
    return Node(tuple(parts))
