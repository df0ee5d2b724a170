"""BibTeX for what was used: public names, and papers by key or number."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from types import ModuleType

from smoothdp.errors import InvalidParameter, MissingExtra
from smoothdp.sources import Source, bibtex

PAPERS = {
    "paper-1": "liu-wang-xia",
    "paper-2": "bun-steinke-averages",
    "paper-3": "balcer-cheu",
    "paper-4": "hladik-tetek",
    "paper-5": "chen-long",
}
"""The five papers, as they are numbered throughout."""


def known_names(public: ModuleType) -> list[tuple[str, str]]:
    """Return (name, description) of everything that can be cited, papers first.

    Args:
        public: the package whose public names count: smoothdp itself.

    >>> import smoothdp as sd
    >>> ("noise.PolyPlace", "hladik-tetek, Definition 6") in known_names(sd)
    True
    """
    sources = _sources(public)
    keys = dict.fromkeys([*PAPERS.values(), *(source.key for source in sources.values())])
    return [
        *PAPERS.items(),
        *((key, str(Source(key, "")).removesuffix(", ")) for key in keys),
        *((name, f"{source.key}, {source.where}") for name, source in sources.items()),
    ]


def citations(names: Iterable[str], *, public: ModuleType) -> list[str]:
    """Return the BibTeX entries of names, each once, in the order of the names.

    An entry has a note of the passages that the names rest on.

    Args:
        names: public names ("SmoothNoise", "noise.PolyPlace" or "PolyPlace"), keys of the
            bibliography, or "paper-1" to "paper-5".
        public: as for `known_names`.

    Raises:
        InvalidParameter: a name that is not known, or that has no source of its own.

    >>> import smoothdp as sd
    >>> print(citations(["PolyPlace", "paper-4"], public=sd)[0].splitlines()[-2])
      note = {Definition 6},
    """
    cited: dict[str, list[str]] = {}
    for name in names:
        source = _find(name, public)
        passages = cited.setdefault(source.key, [])
        if source.where and source.where not in passages:
            passages.append(source.where)
    return [_entry(key, passages) for key, passages in cited.items()]


def _find(name: str, public: ModuleType) -> Source:
    sources = _sources(public)
    if name in sources:
        return sources[name]
    inner = [source for full, source in sources.items() if full.rpartition(".")[2] == name]
    if inner:
        return inner[0]
    try:
        return Source(PAPERS.get(name, name), "")
    except InvalidParameter:
        # A name is known with its room and without.
        known = [word for word, _ in known_names(public)]
        known += [word.rpartition(".")[2] for word in known if word not in PAPERS.values()]
        near = difflib.get_close_matches(name, sorted(set(known)), n=3)
        raise InvalidParameter(
            expected="a public name with a source, a key of the bibliography or paper-1 to paper-5",
            got=repr(name),
            remedy=f"Write a name near it: {', '.join(near)}"
            if near
            else "List the names with: smoothdp cite",
        ) from None


def _entry(key: str, where: list[str]) -> str:
    entry = bibtex(key)
    return f"{entry.removesuffix('}')}  note = {{{'; '.join(where)}}},\n}}" if where else entry


def _sources(public: ModuleType) -> dict[str, Source]:
    """Return the source of every public name that has one, also in the public rooms."""
    sources = {}
    for name in public.__all__:
        try:
            value = getattr(public, name)
        except (ImportError, MissingExtra):
            continue  # a room whose extra is not installed
        inside = getattr(value, "__all__", ()) if isinstance(value, ModuleType) else ()
        every = {name: value}
        # What the root has, too, is cited by its short name.
        every |= {
            f"{name}.{inner}": getattr(value, inner)
            for inner in inside
            if inner not in public.__all__
        }
        for full, named in every.items():
            source = getattr(named, "source", None)
            if isinstance(source, Source):
                sources[full] = source
    return sources
