"""Reads demangled C++ names, as CUDA and HIP profilers print them.

No grammar of C++ is attempted: a name is qualified components, each with template
arguments; parameter lists, qualifiers and return types are passed over. The three
spellings in use differ in details only::

    at::native::(anonymous namespace)::f<4, std::array<char*, 2ul> >(int)::{lambda(int)#1}
    at::native::<unnamed>::f<(int)4, std::array<char *, (unsigned long)2>>::[lambda() (instance 1)]
    rocprim::detail::f<(rocprim::detail::target_arch)942>(int)
"""

from __future__ import annotations

import re

from perfetto_autoviz.steps.ops.node import LAMBDA, MAX_DEPTH, NameTooDeepError, Node, Part, words

_WORD = re.compile(r"[A-Za-z_$~.][\w$.]*")
_NUMBER = re.compile(r"-?\d[\w.+]*")  # 128, 2ul, -1, 0.5f, 0x1p
_LAMBDA = re.compile(r"lambda|unnamed type")
_ORDINAL = re.compile(
    r"#(\d{1,6})\}|\(instance (\d{1,6})\)\]"
)  # {lambda()#3}, [lambda() (instance 3)]
_PARENTHESES = re.compile(r"[()]")
_BEHIND_PARAMETERS = re.compile(r"\)(?: const)?::")
_OPERATOR = re.compile(r"\s*(?:\(\)|\[\]|<=>|[-+*/%^&|~!=<>,]{1,3})")

_QUALIFIERS = frozenset({"const", "volatile", "typename", "struct", "class", "enum", "restrict"})
_BUILTINS = words(
    "void bool char short int long float double signed unsigned auto __int128 wchar_t"
)
_LITERALS = frozenset({"true", "false", "nullptr"})


def parse_cxx(text: str) -> Node:
    """Reads one name.

    Args:
        text: the name, with or without a return type and a parameter list.

    Returns:
        The name without both; without parts if there is none.

    Raises:
        NameTooDeepError: if templates nest deeper than is followed.
    """
    return _Parser(text).item(0)


class _Parser:
    """A position in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def item(self, depth: int) -> Node:
        """Reads up to the ``,``, ``>``, ``)``, ``}`` or ``]`` that ends one argument."""
        if depth > MAX_DEPTH:
            raise NameTooDeepError
        state = _Item()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in ",>)}]" or self._step(char, state, depth):
                break
        return state.node()

    def _step(self, char: str, state: _Item, depth: int) -> bool:
        """Reads what begins with a character; True if the item ends with it."""
        if char.isalpha() or char in "_$~.":
            self._word(state)
        elif char == "<":
            self._angle(state, depth)
        elif char == "(":
            return self._parenthesis(state, depth)
        elif char in "{[":
            self._bracket(state, depth)
        elif char.isdigit() or char == "-":
            self._number(state)
        else:
            self.at += 1
            if char == ":":
                state.joined = bool(state.parts)
            elif char == " ":
                state.spaced = True
        return False

    def _word(self, state: _Item) -> None:
        match = _WORD.match(self.text, self.at)
        if match is None:  # a letter outside ASCII
            self.at += 1
            return
        word = match[0]
        self.at = match.end()
        if word == "operator":
            operator = _OPERATOR.match(self.text, self.at)
            if operator is not None:
                self.at = operator.end()
                word = "operator" + operator[0].strip()
        if word in _QUALIFIERS and not state.joined:
            return
        if word in _LITERALS and not state.joined:
            state.value = word
        elif word in _BUILTINS and not state.joined:
            state.builtin(word)
        else:
            state.add(Part(word))

    def _number(self, state: _Item) -> None:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            self.at += 1
            return
        self.at = match.end()
        if state.value is None:
            state.value = match[0]

    def _angle(self, state: _Item, depth: int) -> None:
        if self.text.startswith("<unnamed>", self.at) and (state.joined or not state.parts):
            self.at += len("<unnamed>")
            state.add(Part(""))
            return
        args = self._list(depth, ">")
        if state.parts and not state.parts[-1].args:
            last = state.parts[-1]
            state.parts[-1] = Part(last.ident, args, last.params, last.number)

    def _list(self, depth: int, end: str) -> tuple[Node, ...]:
        """Reads a list of arguments, from its opening bracket past its closing one."""
        self.at += 1
        args: list[Node] = []
        while self.at < len(self.text):
            if self.text[self.at] != end:
                args.append(self.item(depth + 1))
            if self.at >= len(self.text):
                break
            char = self.text[self.at]
            self.at += 1
            if char == end:
                break
            if char != ",":  # a bracket that nothing opened: the name is no name, or cut off
                continue
        return tuple(args)

    def _parenthesis(self, state: _Item, depth: int) -> bool:
        """Reads a parenthesis; True if it is the parameter list that ends the name."""
        start = self.at
        if state.parts and not state.joined and not state.spaced:
            if depth == 0 and not _BEHIND_PARAMETERS.search(self.text, start):
                return True
            self.at = self._closing(start) + 1
            return depth == 0 and not self._continues()
        close = self._closing(start)
        if self.text.startswith("(anonymous", start) or self.text.startswith("(unnamed", start):
            self.at = close + 1
            state.add(Part(""))
            return False
        self.at = start + 1
        inside = self.item(depth + 1)
        self.at = close + 1
        follows = self.text[self.at : self.at + 1]
        if follows.isdigit() or follows == "-":  # a cast: (ncclFunc_t)5
            self._number(state)
            state.parts = [] if _is_builtin(inside) else list(inside.parts)
        elif not state.parts and state.value is None:  # &(op_add(float, float))
            state.parts = list(inside.parts)
        return False

    def _continues(self) -> bool:
        """Whether a name goes on behind a parameter list: ``f(int) const::{lambda()#1}``."""
        rest = self.text[self.at : self.at + 10].lstrip()
        return rest.removeprefix("const").lstrip().startswith("::")

    def _closing(self, opening: int) -> int:
        """Where a parenthesis is closed.

        Parentheses inside are passed again when they are read, once per level of nesting,
        which is bounded.
        """
        level = 0
        for match in _PARENTHESES.finditer(self.text, opening):
            level += 1 if match[0] == "(" else -1
            if level == 0:
                return match.start()
        return len(self.text)

    def _bracket(self, state: _Item, depth: int) -> None:
        opening = self.text[self.at]
        self.at += 1
        if not _LAMBDA.match(self.text, self.at):
            end = self.text.find("}" if opening == "{" else "]", self.at)
            self.at = len(self.text) if end < 0 else end + 1
            return
        params: tuple[Node, ...] = ()
        parenthesis = self.text.find("(", self.at, self.at + 16)
        if parenthesis >= 0:
            close = self._closing(parenthesis)
            self.at = parenthesis
            params = self._list(depth, ")")
            self.at = close + 1
        ordinal = _ORDINAL.search(self.text, self.at, self.at + 24)
        number = int(ordinal[1] or ordinal[2]) if ordinal else 1
        if ordinal:
            self.at = ordinal.end()
        state.add(Part(LAMBDA, (), params, number))


class _Item:
    """What was read of one argument so far."""

    __slots__ = ("joined", "parts", "spaced", "value")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.value: str | None = None
        self.joined = False  # behind a "::"
        self.spaced = False  # behind a space

    def add(self, part: Part) -> None:
        """Goes on with the name, or starts a new one: what came before was its type."""
        if not self.joined:
            self.parts = []
        self.parts.append(part)
        self.joined = self.spaced = False

    def builtin(self, word: str) -> None:
        """Joins ``unsigned long`` to one name."""
        if self.parts and _is_builtin(Node(tuple(self.parts))):
            word = f"{self.parts[0].ident} {word}"
        elif self.parts:
            return
        self.parts = [Part(word)]
        self.spaced = False

    def node(self) -> Node:
        return Node(tuple(self.parts), self.value)


def _is_builtin(node: Node) -> bool:
    return len(node.parts) == 1 and node.parts[0].ident.split(" ", 1)[0] in _BUILTINS
