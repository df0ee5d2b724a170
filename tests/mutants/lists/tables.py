"""tables/: bounding, kept rows, keys, shares; and tables from many places."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PERSONS = ("tests/oracles/test_persons.py",)
_PROOF = ("tests/theorems/test_tables_proof.py", "tests/oracles/test_table_audit.py")
_AUDIT = ("tests/oracles/test_table_audit.py",)
_SHARES = ("tests/conformance/test_table_shares.py",)
_FAR = ("tests/engines/test_tables_by_key.py",)

MUTANTS = (
    Mutant(
        "tables/bound_rows.py",
        "kept[places[order]] = ranks < most",
        "kept[places[order]] = ranks <= most",
        "one row more of each person than the cap",
        _PERSONS,
    ),
    Mutant(
        "tables/bound_rows.py",
        "kept = _uniform_subsets(cells // n_keys, person.rows, rng)",
        "kept = np.ones(len(rows), dtype=np.bool_)",
        "no cap on the rows of a person",
        _PERSONS,
    ),
    Mutant(
        "tables/bound_rows.py",
        "rows = np.flatnonzero((persons >= 0) & (keys >= 0)).astype(np.int64)",
        "rows = np.flatnonzero(keys >= 0).astype(np.int64)",
        "rows without an id kept, as those of one person",
        _PERSONS,
    ),
    Mutant(
        "tables/bound_rows.py",
        "order = _uniform_orders(which, rng)\n",
        "order = np.arange(len(which))\n",
        "the first rows kept instead of a uniform subset",
        _PERSONS,
    ),
    Mutant(
        "tables/person.py",
        "return (self.most_rows_per_group,) * full + ((rest,) if rest else ())",
        "return (self.most_rows_per_group,) * full",
        "the last group of the worst split left out",
        _PERSONS,
    ),
    Mutant(
        "tables/person.py",
        "return sum(rows * rows for rows in self.worst_split)",
        "return sum(self.worst_split)",
        "rho times rows instead of their squares",
        _PERSONS,
    ),
    Mutant(
        "tables/person.py",
        "return row_guarantee.for_group(2)",
        "return row_guarantee",
        "a row that pushes another one out counts once",
        _PERSONS,
    ),
    Mutant(
        "tables/person.py",
        "if self.groups is not None or self.rows_per_group is not None:",
        "if self.groups is not None:",
        "a promise about rows under a cap in each group",
        _PERSONS,
    ),
    Mutant(
        "tables/person.py",
        "if epsilon == 0 or split[0] == 1:",
        "if True:",
        "delta without group privacy",
        _PERSONS,
    ),
    Mutant(
        "tables/kept_rows.py",
        "places = pairs[np.diff(pairs, prepend=-1) > 0] % np.int64(max(1, n_keys))",
        "places = pairs % np.int64(max(1, n_keys))",
        "rows counted for a key instead of persons",
        _PERSONS,
    ),
    Mutant(
        "tables/kept_rows.py",
        "groups = KeptRows(kept.rows, new_places[kept.places], kept.persons)",
        "groups = KeptRows(np.flatnonzero(places >= 0), new_places[places[places >= 0]], None)",
        "statistics of shown keys on all rows",
        _PROOF,
    ),
    Mutant(
        "tables/kept_rows.py",
        "key=lambda at: [same_label(label) for label in keys[at]])",
        "key=lambda at: 0)",
        "private keys in the order of the rows",
        _AUDIT,
    ),
    Mutant(
        "tables/private_keys.py",
        "parts = epsilon / keys, delta / keys",
        "parts = epsilon / keys, delta",
        "each of several keys with all of delta",
        _PROOF,
    ),
    Mutant(
        "tables/private_keys.py",
        "(middle, high) if Fraction(spent) <= delta else (low, middle)",
        "(middle, high)",
        "epsilon of a key beyond what the composition allows",
        _AUDIT,
    ),
    Mutant(
        "tables/private_keys.py",
        "return cls(law, most_keys, guarantee.changed(epsilon=total))",
        "return cls(law, most_keys, guarantee.changed(epsilon=total / 2))",
        "keys that cost more than they say",
        _AUDIT,
    ),
    Mutant(
        "tables/asked/shares.py",
        "if left < 0 or (left == 0 and open_names):",
        "if left == 0 and open_names:",
        "shares of more than the whole",
        _SHARES,
    ),
    Mutant(
        "tables/asked/shares.py",
        "left / max(1, len(open_names))",
        "left",
        "each statistic with all that is left",
        _SHARES,
    ),
    Mutant(
        "tables/request.py",
        "row = left if person is None else person.row_share(left)",
        "row = left",
        "a row that gets what a person pays",
        _AUDIT,
    ),
    Mutant(
        "engines/by_key/buckets.py",
        "start = low[np.flatnonzero(begun < first)[-1]]",
        "start = low[np.flatnonzero(begun <= first)[-1]]",
        "a bucket too far up: ranks below it are missed",
        _FAR,
    ),
    Mutant(
        "engines/by_key/buckets.py",
        "stop = high[np.flatnonzero(ended >= last)[0]]",
        "stop = high[max(0, np.flatnonzero(ended >= last)[0] - 1)]",
        "a bucket too far down: ranks above it are missed",
        _FAR,
    ),
    Mutant(
        "engines/by_key/buckets.py",
        "        np.maximum.reduceat(high, starts),\n",
        "        high[starts],\n",
        "a bucket that ends before its values do",
        _FAR,
    ),
)
