"""What a taxonomy file says, before anyone asks whether it is a taxonomy.

Every reader yields a `Source`: the edges with their lines, the names, and what the reader itself noticed.
It may be full of mistakes; `Source.taxonomy` refuses them and `pinakes.taxonomy.check` explains them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pinakes.errors import DataWarning, TaxonomyError
from pinakes.taxonomy.taxonomy import Taxonomy

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a taxonomy file.

    Attributes
    ----------
    severity : {"error", "warning"}
        With an error the file is no taxonomy; with a warning it is, but maybe not the one its owner meant.
    kind : str
        A short word to filter by: ``cycle``, ``unknown-parent``, ``redundant-edge``, …
    message : str
        What came and what to do.
    source : str
        The file.
    line : int or None
        The line in it, from 1; None where the format has none to offer.
    count : int
        How many cases this finding stands for.
    """

    severity: Severity
    kind: str
    message: str
    source: str
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where}: {self.severity}: {self.message} [{self.kind}]"

    def as_dict(self) -> dict[str, Any]:
        """Give the finding as a dict, ready for JSON."""
        return asdict(self)


@dataclass
class Source:
    """What a taxonomy file says: edges, names, and what its reader noticed.

    Attributes
    ----------
    path : str
        The file, as messages name it.
    edges : list of (str, str, int)
        Parent, child and line (0 where there is none), in the order of the file. An empty parent declares a
        root. Where a file declares a root, every node has to stand as a child somewhere; where none does,
        parents that are nobody's child are the roots.
    names : dict of str to str
        Names by id, the first one given.
    findings : list of Finding
        What the reader noticed on the way.
    """

    path: str
    edges: list[tuple[str, str, int]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def report(self, severity: Severity, kind: str, message: str, line: int | None = None, count: int = 1) -> None:
        """Note a finding about this file."""
        self.findings.append(Finding(severity, kind, message, self.path, line or None, count))

    def add_name(self, node: str, name: str, line: int = 0) -> None:
        """Take a name for a node; a second, different one is reported and the first one kept."""
        if not name:
            return
        known = self.names.setdefault(node, name)
        if known != name:
            message = f"{node!r} is named {name!r}, but was named {known!r} before; the first name is used"
            self.report("warning", "name-clash", message, line)

    def add_roots(self) -> None:
        """Declare every parent that is nobody's child a root; for formats in which roots need no line."""
        children = {child for _, child, _ in self.edges}
        tops = {parent: line for parent, _, line in reversed(self.edges) if parent not in children}
        tops.pop("", None)
        self.edges += [("", parent, line) for parent, line in reversed(tops.items())]

    def unknown_parents(self) -> dict[str, list[int]]:
        """Give the parents that the file never declares, with the lines that use them."""
        declared = {child for _, child, _ in self.edges}
        if not any(parent == "" for parent, _, _ in self.edges):
            return {}
        unknown: dict[str, list[int]] = {}
        for parent, _, line in self.edges:
            if parent and parent not in declared:
                unknown.setdefault(parent, []).append(line)
        return unknown

    def taxonomy(self, *, warn: bool = True) -> Taxonomy:
        """Build the taxonomy or refuse; with `warn`, what the reader noticed becomes DataWarnings."""
        broken = any(f.severity == "error" for f in self.findings) or not self.edges or self.unknown_parents()
        if broken:
            raise self._refusal()
        try:
            taxonomy = Taxonomy.from_edges(((p, c) for p, c, _ in self.edges), self.names)
        except TaxonomyError:
            raise self._refusal() from None
        if warn:
            for message in self._warnings():
                warnings.warn(message, DataWarning, stacklevel=3)
        return taxonomy

    def _refusal(self) -> TaxonomyError:
        """Word the first error and say how to see the others."""
        from pinakes.taxonomy.check import check_taxonomy

        first, *others = (f for f in check_taxonomy(self) if f.severity == "error")
        more = f" ('pinakes taxonomy check {self.path}' lists {len(others)} more)" if others else ""
        return TaxonomyError(first.message + more, source=self.path, line=first.line)

    def _warnings(self) -> Iterator[str]:
        """Say each kind of warning once, with the first case and how many more there are."""
        kinds: dict[str, list[Finding]] = {}
        for finding in self.findings:
            kinds.setdefault(finding.kind, []).append(finding)
        for found in kinds.values():
            more = sum(f.count for f in found[1:])
            where = self.path if found[0].line is None else f"{self.path}:{found[0].line}"
            yield f"{where}: {found[0].message}" + (f" (and {more} more like it)" if more else "")
