"""Derive the words at which a row is tried (its anchor words) from its parsed pattern.

A pattern such as ``(?:pre-?)?auth(?:ori[sz]ation)?`` begins with one of a few words: ``auth``, ``authorization``,
``pre``, ``preauth`` ... In other patterns, a later position may have such a set of words. A text without any of these
words cannot match. So a row is tried only at these words, and nobody has to list them by hand.

A word is a match of :data:`WORD`, the longest run of letters, or such a run up to a change of case. The parser is the
private one of the module ``re``. A pattern with an operation that is unknown here counts as one without anchor words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

_parser: Final[Any] = import_module("re._parser")
_ops: Final[Any] = import_module("re._constants")

#: A run of letters; texts are split into words by it.
WORD: Final = re.compile(r"[^\W\d_]+")
#: Larger sets of words are not used.
_MOST_WORDS: Final = 1_000
_MOST_STEPS: Final = 4_000
_LONGEST_WORD: Final = 40

_Node = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Offsets:
    """Minimum and maximum number of code points of a match before a word."""

    least: int
    most: int


class _NoSetError(Exception):
    """Raised when a pattern has no finite set of words from this position on."""


def group_names(pattern: str) -> tuple[str, ...]:
    """Return the names of the groups of a pattern, in their order. Raises re.error, as all functions for patterns."""
    return tuple(_parsed(pattern).state.groupdict)


def anchor_words(pattern: str) -> Mapping[str, Offsets]:
    """Return lower-case words, at least one of which is in every match; empty when there is no such set.

    A set at the very beginning of the matches is preferred, then the set whose shortest word is longest.
    """
    parsed = _parsed(pattern)
    nodes = _resolved(parsed, bool(parsed.state.flags & re.IGNORECASE))
    best = _words_from(nodes)
    if best and all(offsets.most == 0 for offsets in best.values()):
        return best
    best_length = _shortest(best)
    least = most = 0  # width of the earlier nodes
    for index, node in enumerate(nodes[:-1], start=1):
        low, high = _width(node)
        least, most = least + low, most + high
        words = _words_from(nodes[index:])
        if _may_end_in_letter(nodes[:index]) and any(offsets.least == 0 for offsets in words.values()):
            continue  # the word may begin in an earlier node
        if _shortest(words) > best_length:
            best_length = _shortest(words)
            best = {word: Offsets(least + each.least, most + each.most) for word, each in words.items()}
    return best


def _shortest(words: Mapping[str, Offsets]) -> int:
    return min(map(len, words), default=0)


def characters(char_class: str) -> str:
    """Return the characters of a class of single characters and ranges (``[a-z_]``). Raises ValueError for others."""
    nodes: Sequence[_Node] = _parser.parse(char_class)
    if len(nodes) == 1 and nodes[0][0] is _ops.LITERAL:
        return chr(nodes[0][1])
    if len(nodes) != 1 or nodes[0][0] is not _ops.IN:
        raise ValueError(f"expected one class of characters such as [a-z], not {char_class!r}")
    chars = []
    for op, argument in nodes[0][1]:
        if op is _ops.LITERAL:
            chars.append(chr(argument))
        elif op is _ops.RANGE:
            chars.extend(map(chr, range(argument[0], argument[1] + 1)))
        else:
            raise ValueError(f"expected only single characters and ranges in {char_class!r}")
    return "".join(chars)


def has_unbounded_repeat(pattern: str) -> bool:
    """Return whether a pattern has a repeat without an upper bound (``*``, ``+``, ``{2,}``)."""
    return any(op in _REPEATS and argument[1] == _ops.MAXREPEAT for op, argument in _all_nodes(_parsed(pattern)))


def may_cross_blank_line(pattern: str) -> bool:
    """Return whether a match may have a blank line in it: two line ends, among the characters that it can consist of.

    A pattern of an unknown operation counts as one that may.
    """
    parsed = _parsed(pattern)
    return _line_ends(parsed, {}, bool(parsed.state.flags & re.DOTALL)) >= _TWO


# --- words -----------------------------------------------------------------------------------------------------------

_REPEATS: Final = frozenset({_ops.MAX_REPEAT, _ops.MIN_REPEAT, _ops.POSSESSIVE_REPEAT})
_ANY_LETTERS: Final = None  # a class with more letters than can be listed
_CASE_CHANGE: Final = "a change of case ahead"
_CAPITAL: Final = (_ops.IN, [(_ops.RANGE, (ord("A"), ord("Z")))])
_SMALL: Final = (_ops.IN, [(_ops.RANGE, (ord("a"), ord("z")))])
_CASE_CHANGES: Final = ([_CAPITAL], [_CAPITAL, _SMALL], [_SMALL])


#: The rest of a pattern: nodes, then another such pair; None at the end of the pattern.
_Rest = tuple[Sequence[_Node], Any] | None


def _words_from(nodes: Sequence[_Node]) -> dict[str, Offsets]:
    """Return the first words of the texts that ``nodes`` match, with the width before them; {} if there is no set."""
    words: dict[str, Offsets] = {}
    pending: list[tuple[str, int, _Rest]] = [("", 0, (nodes, None))]
    count = 0
    try:
        while pending:
            count += 1
            prefix, offset, rest = pending.pop()
            for step in _steps(prefix, offset, rest):
                if isinstance(step, str):
                    known = words.get(step, Offsets(offset, offset))
                    words[step] = Offsets(min(known.least, offset), max(known.most, offset))
                else:
                    pending.append(step)
            if len(words) > _MOST_WORDS or len(prefix) > _LONGEST_WORD or count > _MOST_STEPS:
                return {}
    except _NoSetError:
        return {}
    return words


def _steps(prefix: str, offset: int, rest: _Rest) -> Iterator[str | tuple[str, int, _Rest]]:
    """Yield the results of one more node: a complete word, or a longer prefix with the rest of the pattern."""
    while rest is not None and not rest[0]:
        rest = rest[1]
    if rest is None:
        raise _NoSetError  # the word may continue after the match, or there is none
    (op, argument), following = rest[0][0], (rest[0][1:], rest[1])
    if op is _ops.BRANCH:
        for branch in argument[1]:
            yield prefix, offset, (branch, following)
    elif op in _REPEATS:
        least, most, body = argument
        if least == 0:
            yield prefix, offset, following
        if most:
            again = [(op, (max(0, least - 1), most if most == _ops.MAXREPEAT else most - 1, body))]
            if most == _ops.MAXREPEAT and least == 0:
                raise _NoSetError
            yield prefix, offset, (body, (again, following) if again[0][1][1] else following)
    elif op is _ops.AT:
        if prefix and argument in _ENDS:
            yield prefix
        else:
            yield prefix, offset, following
    elif op in (_ops.ASSERT, _ops.ASSERT_NOT):
        direction, body = argument
        if prefix and direction > 0 and (_keeps_letters_off if op is _ops.ASSERT_NOT else _wants_no_letter)(body):
            yield prefix
        else:
            yield prefix, offset, following
    elif op in (_ops.LITERAL, _ops.NOT_LITERAL, _ops.IN, _ops.ANY):
        letters, has_others = _split(op, argument)
        if letters is _ANY_LETTERS:
            raise _NoSetError
        if has_others:
            if prefix:
                yield prefix
            else:
                yield prefix, offset + 1, following
        for letter in letters:
            yield prefix + letter, offset, following
    else:
        raise _NoSetError  # a reference to a group


_ENDS: Final = frozenset({_ops.AT_BOUNDARY, _ops.AT_END, _ops.AT_END_STRING, _CASE_CHANGE})


def _keeps_letters_off(body: Sequence[_Node]) -> bool:
    """Return whether ``(?!body)`` rejects every letter, as ``(?!\\w|-\\d)`` does."""
    nodes = body
    if len(nodes) == 1 and nodes[0][0] is _ops.BRANCH:
        return any(_keeps_letters_off(branch) for branch in nodes[0][1][1])
    return len(nodes) == 1 and nodes[0][0] is _ops.IN and _has_every_letter(nodes[0][1])


def _wants_no_letter(body: Sequence[_Node]) -> bool:
    """Return whether ``(?=body)`` cannot begin with a letter, as with ``(?=[ :#])``."""
    if not body:
        return False
    op, argument = body[0]
    if op is _ops.BRANCH:
        return all(_wants_no_letter(branch) for branch in argument[1])
    if op in _REPEATS and argument[0]:
        return _wants_no_letter(argument[2])
    if op is _ops.AT:
        return argument in _ENDS
    return op in (_ops.LITERAL, _ops.IN) and _split(op, argument)[0] == frozenset()


@lru_cache(maxsize=4096)
def _letter(code: int) -> str:
    """Return a letter in lower case; an empty string for any other character."""
    char = chr(code)
    return char.lower() if WORD.fullmatch(char) else ""


def _split(op: Any, argument: Any) -> tuple[frozenset[str] | None, bool]:
    """Return the letters that a node matches (None: any letter), and whether it matches other characters."""
    if op is _ops.LITERAL:
        letter = _letter(argument)
        return frozenset({letter} - {""}), not letter
    if op is not _ops.IN:
        return _ANY_LETTERS, True
    if argument[0][0] is _ops.NEGATE:
        if _has_every_letter(argument[1:]):
            return frozenset(), True
        # [^\W\d_] and similar classes match letters only; reporting other characters too is harmless
        return _ANY_LETTERS, True
    letters: set[str] = set()
    has_others = False
    for kind, value in argument:
        if kind is _ops.CATEGORY:
            if value in (_ops.CATEGORY_WORD, _ops.CATEGORY_NOT_DIGIT, _ops.CATEGORY_NOT_SPACE):
                return _ANY_LETTERS, True
            has_others = True
            continue
        for code in [value] if kind is _ops.LITERAL else range(value[0], value[1] + 1):
            letter = _letter(code)
            letters.update({letter} - {""})
            has_others = has_others or not letter
    return frozenset(letters), has_others


def _has_every_letter(items: Sequence[Any]) -> bool:
    """Return whether a class has every letter: it contains ``\\w`` or ``[^\\W\\d_]``."""
    if items and items[0][0] is _ops.NEGATE:
        return all(
            item in ((_ops.CATEGORY, _ops.CATEGORY_NOT_WORD), (_ops.CATEGORY, _ops.CATEGORY_DIGIT))
            or (item[0] is _ops.LITERAL and not _letter(item[1]))
            for item in items[1:]
        )
    return (_ops.CATEGORY, _ops.CATEGORY_WORD) in items


# --- the shape of a pattern ------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _parsed(pattern: str) -> Any:
    """Return the nodes of a pattern, with its flags and groups in ``state``, without compiling it."""
    return _parser.parse(pattern)


def _resolved(nodes: Sequence[_Node], ignores_case: bool) -> list[_Node]:
    """Return the nodes with groups flattened.

    In case-sensitive parts, ``(?=[A-Z])``, ``(?=[A-Z][a-z])`` and ``(?=[a-z])`` become the end of a word, as in the
    part ``{word_end}``.
    """
    resolved: list[_Node] = []
    for op, argument in nodes:
        if op is _ops.SUBPATTERN:
            _, added, removed, body = argument
            inner = (ignores_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
            resolved.extend(_resolved(body, inner))
        elif op is _ops.ATOMIC_GROUP:
            resolved.extend(_resolved(argument, ignores_case))
        elif op is _ops.BRANCH:
            resolved.append((op, (None, [_resolved(branch, ignores_case) for branch in argument[1]])))
        elif op in _REPEATS:
            resolved.append((op, (*argument[:2], _resolved(argument[2], ignores_case))))
        elif op in (_ops.ASSERT, _ops.ASSERT_NOT):
            direction, body = argument
            if op is _ops.ASSERT and direction > 0 and not ignores_case and list(body) in _CASE_CHANGES:
                resolved.append((_ops.AT, _CASE_CHANGE))
            else:
                resolved.append((op, (direction, _resolved(body, ignores_case))))
        else:
            resolved.append((op, argument))
    return resolved


_TWO: Final = 2
_WITH_LINE_END: Final = frozenset({_ops.CATEGORY_SPACE, _ops.CATEGORY_NOT_DIGIT, _ops.CATEGORY_NOT_WORD})


def _line_ends(nodes: Sequence[_Node], groups: dict[int, int], dot_is_all: bool) -> int:
    """Return the most line ends in a match of ``nodes``, at most two; add those of each group to ``groups``."""
    return min(_TWO, sum(_line_ends_of(op, argument, groups, dot_is_all) for op, argument in nodes))


def _line_ends_of(op: Any, argument: Any, groups: dict[int, int], dot_is_all: bool) -> int:
    if op in (_ops.AT, _ops.ASSERT, _ops.ASSERT_NOT):
        return 0
    if op in (_ops.LITERAL, _ops.NOT_LITERAL):
        return int((argument == ord("\n")) is (op is _ops.LITERAL))
    if op is _ops.ANY:
        return int(dot_is_all)
    if op is _ops.IN:
        return int(_has_line_end(argument))
    if op is _ops.BRANCH:
        return max(_line_ends(branch, groups, dot_is_all) for branch in argument[1])
    if op in _REPEATS:
        return min(_TWO, int(argument[1]) * _line_ends(argument[2], groups, dot_is_all))
    if op is _ops.SUBPATTERN:
        count = _line_ends(argument[3], groups, dot_is_all or bool(argument[1] & re.DOTALL))
        if argument[0] is not None:
            groups[argument[0]] = count
        return count
    if op is _ops.ATOMIC_GROUP:
        return _line_ends(argument, groups, dot_is_all)
    return groups.get(argument, _TWO) if op is _ops.GROUPREF else _TWO


def _has_line_end(items: Sequence[Any]) -> bool:
    is_listed = any(
        (kind is _ops.LITERAL and value == ord("\n"))
        or (kind is _ops.RANGE and value[0] <= ord("\n") <= value[1])
        or (kind is _ops.CATEGORY and value in _WITH_LINE_END)
        for kind, value in items
    )
    return is_listed is not (items[0][0] is _ops.NEGATE)


def _all_nodes(nodes: Sequence[_Node]) -> Iterator[_Node]:
    for op, argument in nodes:
        yield op, argument
        if op is _ops.SUBPATTERN:
            yield from _all_nodes(argument[-1])
        elif op is _ops.ATOMIC_GROUP:
            yield from _all_nodes(argument)
        elif op is _ops.BRANCH:
            for branch in argument[1]:
                yield from _all_nodes(branch)
        elif op in _REPEATS:
            yield from _all_nodes(argument[2])
        elif op in (_ops.ASSERT, _ops.ASSERT_NOT):
            yield from _all_nodes(argument[1])


def _width(node: _Node) -> tuple[int, int]:
    """Return the minimum and maximum number of code points that a node matches."""
    op, argument = node
    if op in (_ops.AT, _ops.ASSERT, _ops.ASSERT_NOT):
        return 0, 0
    if op is _ops.BRANCH:
        widths = [_widths(branch) for branch in argument[1]]
        return min(low for low, _ in widths), max(high for _, high in widths)
    if op in _REPEATS:
        low, high = _widths(argument[2])
        return low * argument[0], high * int(argument[1])
    if op is _ops.GROUPREF:
        return 0, 8  # a reference to a separator; a larger maximum would start searches too early
    return 1, 1


def _widths(nodes: Sequence[_Node]) -> tuple[int, int]:
    widths = [_width(node) for node in nodes]
    return sum(low for low, _ in widths), sum(high for _, high in widths)


def _may_end_in_letter(nodes: Sequence[_Node]) -> bool:
    """Return whether a match of ``nodes`` may end in a letter, so that a word may begin within it."""
    for op, argument in reversed(nodes):
        if op in (_ops.AT, _ops.ASSERT, _ops.ASSERT_NOT):
            continue
        if op is _ops.BRANCH:
            if any(_may_end_in_letter(branch) for branch in argument[1]):
                return True
            if all(_widths(branch)[0] for branch in argument[1]):
                return False
        elif op in _REPEATS:
            if _may_end_in_letter(argument[2]):
                return True
            if argument[0]:
                return False
        else:
            return op is _ops.GROUPREF or _split(op, argument)[0] != frozenset()
    return False
