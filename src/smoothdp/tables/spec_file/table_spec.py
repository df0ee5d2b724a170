"""A table as a file that a person reads and signs: TOML whose keys are the arguments of
`smoothdp.tables.release_table`."""

from __future__ import annotations

import datetime
import inspect
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from smoothdp import claims
from smoothdp.claims.budget import Budget
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.refusals import reason
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.random.entropy import Entropy
from smoothdp.ledger import Ledger
from smoothdp.tables.asked.arguments import read_by
from smoothdp.tables.asked.column_statistic import OPTIONS
from smoothdp.tables.person import Person
from smoothdp.tables.release_table import release_table
from smoothdp.tables.released_table import ReleasedTable
from smoothdp.tables.request import TableRequest
from smoothdp.tables.spec_file.key_file import read_key_file
from smoothdp.tables.spec_file.named_statistics import named_statistic
from smoothdp.tables.table_check import TableCheck, check_table
from smoothdp.tables.table_mechanism import TableMechanism

_OF_PYTHON = ("derive", "rng", "progress")
_KINDS = {
    ("epsilon",): "PureDP",
    ("epsilon", "delta"): "ApproxDP",
    ("rho",): "ZCDP",
    ("rho", "omega"): "TruncatedCDP",
    ("mu",): "GaussianDP",
}
_MAKERS: dict[str, Callable[..., object]] = {"person": Person}
"""Arguments that are values of their own, by name: what makes them of the fields in a spec."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a file asks for: read and checked, before any data are.

    Attributes:
        path: of the file.
        data: the path of the data, if the file names one; "-" is standard input.
        ledger: the path of the ledger, if it names one.
        arguments: of `release_table`, without these two.
    """

    path: Path
    data: str | None
    ledger: Path | None
    arguments: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | Path) -> TableSpec:
        """Return the spec of a file, checked as far as it can be without data.

        Paths in it are relative to the folder that it is in.

        Raises:
            InvalidParameter: an unknown key, one that is lacking, or anything that
                `release_table` refuses.
            InvalidData: the file, or one of keys, cannot be read.
        """
        file = Path(path)
        fields = _read_toml(file)
        allowed = [name for name in _names(release_table) if name not in _OF_PYTHON]
        for name in fields:
            if name not in allowed:
                near = get_close_matches(name, allowed, n=1)
                raise InvalidParameter(
                    expected=f"keys of {file} among {', '.join(allowed)}",
                    got=f"{name!r}",
                    remedy=f"Did you mean {near[0]!r}?" if near else "Leave it out",
                )
        for name in ("by", "keys", "statistics", "guarantee"):
            if name not in fields:
                raise InvalidParameter(
                    expected=f"{name} in {file}",
                    got="none",
                    remedy="Add it: a table needs by, keys, statistics and guarantee",
                )
        data = _path_of(file, fields.pop("data", None), "data")
        ledger = _path_of(file, fields.pop("ledger", None), "ledger")
        made = cls(file, data, None if ledger is None else Path(ledger), _arguments(file, fields))
        made.request()
        CsvFormat.read(made.arguments.get("csv"))
        return made

    def request(self) -> TableRequest:
        """Return what the file asks for."""
        known = _names(TableRequest.read)
        asked = {name: value for name, value in self.arguments.items() if name in known}
        return TableRequest.read(**asked)

    def check(self) -> TableCheck:
        """Return what the table promises, and what accuracy to expect: no data are read.

        Raises:
            BudgetExceeded, IncompatibleClaims, LedgerError: the ledger that the file names has no
                room, keeps account of another unit, or is not there.
        """
        request = self.request()
        if self.ledger is not None:
            # The table's charge, not its bare guarantee: a ledger also asks whom it is about.
            Ledger(self.ledger).check(TableMechanism.of(request))
        return check_table(request)

    def release(
        self,
        data: object = None,
        *,
        csv: object = None,
        ledger: Budget | None = None,
        rng: Entropy | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReleasedTable:
        """Release the table.

        Args:
            data: as of `release_table`; None: those that the file names.
            csv: as of `release_table`; None: what the file says.
            ledger: an open ledger; None: the one that the file names, if it names one.
            rng, progress: as of `release_table`.

        Raises:
            InvalidParameter: no data are named. Others as `release_table`.
        """
        source = self.data if data is None else data
        if source is None:
            raise InvalidParameter(
                expected=f"data, in {self.path} or beside it",
                got="none",
                remedy='Add data = "wages.csv", or name the file',
            )
        if ledger is None and self.ledger is not None:
            ledger = Ledger(self.ledger)
        asked = {**self.arguments, **({} if csv is None else {"csv": csv})}
        return release_table(source, **asked, ledger=ledger, rng=rng, progress=progress)


def _names(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = file.read_bytes().decode("utf-8-sig")
        return tomllib.loads(text, parse_float=Decimal)
    except (OSError, UnicodeDecodeError) as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        raise InvalidData(
            expected=f"a spec of a table at {file}: a file of TOML, in UTF-8",
            got=reason(error),
            remedy="Check the path" if is_text else "Save the file as UTF-8",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(
            expected=f"TOML in {file}",
            got=f"{error}",
            remedy='Write by = "region", and [statistics.wage] before its lines',
        ) from None


def _path_of(file: Path, name: object, key: str) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str) or not name:
        raise _shape(file, f"{key} as the path of a file", name)
    return name if name == "-" else str(file.parent / name)


def _arguments(file: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `release_table` from what stands in a file."""
    by = read_by(fields["by"])
    made: dict[str, Any] = {name: _parameter(value) for name, value in fields.items()}
    made["by"] = by
    made["keys"] = _keys(file, fields["keys"], by)
    made["guarantee"] = _guarantee(file, fields["guarantee"])
    made["statistics"] = _statistics(file, fields["statistics"])
    if "where" in fields:
        made["where"] = _label(fields["where"])
    made |= {name: _made(file, name, fields[name]) for name in _MAKERS if name in fields}
    return made


def _keys(file: Path, keys: object, by: tuple[str, ...]) -> object:
    if isinstance(keys, str) and keys != "private":
        path = file.parent / keys
        if not path.exists():
            raise _shape(file, 'keys as labels, as a file of them, or "private"', f"no file {path}")
        return read_key_file(path, by)
    return _label(keys)


def _guarantee(file: Path, fields: object) -> Guarantee:
    if not isinstance(fields, Mapping):
        raise _shape(file, "guarantee as { epsilon = 1 }", fields)
    given = tuple(name for name in ("epsilon", "rho", "omega", "delta", "mu") if name in fields)
    kind = _KINDS.get(given)
    if kind is None or set(given) != set(fields):
        raise _shape(
            file,
            "guarantee with epsilon, epsilon and delta, rho, rho and omega, or mu",
            ", ".join(fields) or "nothing",
        )
    first, *others = (_parameter(fields[name]) for name in given)
    rest = dict(zip(given[1:], others, strict=True))
    made: Guarantee = getattr(claims, kind)(first, neighbours="add_remove", **rest)
    return made


def _statistics(file: Path, fields: object) -> dict[str, tuple[str | None, object, object]]:
    if not isinstance(fields, Mapping):
        raise _shape(file, "[statistics.NAME] with column and statistic", fields)
    made: dict[str, tuple[str | None, object, object]] = {}
    for name, one in fields.items():
        where = f"the statistic {name!r} in {file}"
        options = dict(_parameter(one)) if isinstance(one, Mapping) else {}
        column = options.pop("column", None)
        counts_rows = column is None and options.get("statistic") == "count"
        if not isinstance(column, str) and not counts_rows:
            given = column if "column" in (one if isinstance(one, Mapping) else {}) else "none"
            raise _shape(file, f"column = ... in [statistics.{name}]", given)
        more = {option: options.pop(option) for option in OPTIONS if option in options}
        which = options.pop("statistic", None)
        try:
            query = named_statistic(which, options, where=where, also=OPTIONS)
        except InvalidParameter as error:
            raise error.about(where) from None
        made[name] = column, query, more
    return made


def _made(file: Path, name: str, fields: object) -> object:
    """Return an argument that is a value of its own, from its fields."""
    maker = _MAKERS[name]
    known = _names(maker)
    needed = [
        one.name
        for one in inspect.signature(maker).parameters.values()
        if one.default is inspect.Parameter.empty
    ]
    if not isinstance(fields, Mapping) or not set(fields) <= set(known):
        raise _shape(file, f"{name} with {', '.join(known)}", fields)
    if absent := [one for one in needed if one not in fields]:
        raise _shape(file, f"{absent[0]} in [{name}]", "none")
    return maker(**_parameter(fields))


def _parameter(value: Any) -> Any:
    """Return numbers as the texts that stand in the file: 0.1 is a tenth."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _parameter(one) for name, one in value.items()}
    return [_parameter(one) for one in value] if isinstance(value, list) else value


def _label(value: Any) -> Any:
    """Return what data are compared with: numbers, texts, dates as texts."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime.date | datetime.time):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _label(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_label(one) for one in value]
    return value


def _shape(file: Path, expected: str, got: object) -> InvalidParameter:
    return InvalidParameter(
        expected=f"{expected} in {file}",
        got=f"{got if isinstance(got, str) else repr(got)}"[:80],
        remedy="See the reference of the spec, or smoothdp table --help",
    )
