"""Public keys from a file: a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.read_table import open_source
from smoothdp.errors import InvalidParameter
from smoothdp.tables.grouping import Key


def read_key_file(path: str | Path, by: Sequence[str]) -> list[Key]:
    """Return the keys of a public file of CSV or Parquet, which has the columns ``by``.

    In CSV the labels of a column are numbers if all of them plainly are, else texts: 08 is one.

    Raises:
        InvalidData: the file or a column is not there.
        InvalidParameter: a row without a label.
    """
    columns: dict[str, list[object]] = {name: [] for name in by}
    is_text = Path(path).suffix.lower() != ".parquet" and not Path(path).is_dir()
    for batch in open_source(path).batches(by, False):
        if is_text:
            for name in by:
                columns[name] += batch.columns[name]  # type: ignore[attr-defined]
            continue
        for row in batch.rows():
            for name in by:
                columns[name].append(row[name])
    if any(label in (None, "") for labels in columns.values() for label in labels):
        raise InvalidParameter(
            expected=f"a label for each of {', '.join(map(repr, by))} in every row of {path}",
            got="a row without one",
            remedy="List each public key once, or leave that row out",
        )
    typed = [plain_labels(labels) if is_text else labels for labels in columns.values()]
    return list(zip(*typed, strict=True))


def plain_labels(texts: Sequence[object]) -> list[object]:
    """Return labels of texts: numbers if all of them plainly are, else the texts.

    >>> plain_labels(["8", "12"]), plain_labels(["08", "12"])
    ([8, 12], ['08', '12'])
    """
    numbers = [CsvFormat().value(str(text)) for text in texts]
    return list(texts) if any(isinstance(one, str) for one in numbers) else list(numbers)
