"""Tables of results."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, final

from ._command import ask
from ._errors import ShallopError

#: Tables that are files among the results.
FILES = ("flows", "series")


@final
class Table:
    """A table that libraries read as an Arrow stream, batch by batch.

    ``polars.DataFrame(table)``, ``pandas.DataFrame.from_arrow(table)`` and ``pyarrow.table(table)`` read it. One of
    polars and pyarrow must be installed. ``polars.scan_parquet(table.parquet)`` reads it lazily.
    """

    def __init__(self, folder: Path, name: str, *, swept: bool, owner: object) -> None:
        self._folder, self._name = folder, name
        self._is_file = name in FILES
        # The files lack columns for the keys of a sweep.
        self._is_whole = self._is_file and not swept
        # A reference: a temporary folder exists as long as its tables.
        self._owner = owner

    @property
    def path(self) -> str | None:
        """The file of this table among the results, without columns of swept keys; None for a table without a file."""
        return str(self._folder / f"{self._name}.parquet") if self._is_file else None

    @cached_property
    def parquet(self) -> str:
        """A Parquet file with all columns: that of the results, or a temporary one that is removed with this table."""
        own = self.path
        if own is not None and self._is_whole:
            return own
        folder = tempfile.mkdtemp(prefix="shallop-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        file = os.path.join(folder, f"{self._name}.parquet")
        ask(
            "export",
            f"--table={self._name}",
            "--format=parquet",
            f"--out={file}",
            "--",
            self._folder,
        )
        return file

    @cached_property
    def _listed(self) -> dict[str, Any]:
        listed: dict[str, Any] = json.loads(ask("export", "--json", "--", self._folder))[self._name]
        return listed

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """Name, unit (empty if it has none) and definition of each column."""
        keys = ("name", "unit", "description")
        return [(one[keys[0]], one[keys[1]], one[keys[2]]) for one in self._listed["columns"]]

    @property
    def rows(self) -> int:
        """The number of rows."""
        rows: int = self._listed["rows"]
        return rows

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows: {', '.join(name for name, _, _ in self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, by Arrow's PyCapsule interface. A requested schema is ignored, as the interface allows."""
        library = _library()
        if library.__name__ == "polars":
            return library.read_parquet(self.parquet).__arrow_c_stream__()
        return self._reader(library).__arrow_c_stream__()

    def _reader(self, arrow: Any) -> Any:
        """The batches, with unit and definition in the metadata of the fields."""
        parquet = importlib.import_module("pyarrow.parquet")
        file = parquet.ParquetFile(self.parquet)
        meanings = json.loads(file.metadata.metadata[b"shallop_columns"])
        fields = [field.with_metadata(meanings[field.name]) for field in file.schema_arrow]
        schema = arrow.schema(fields, metadata=file.schema_arrow.metadata)

        def batches() -> Iterator[Any]:
            for batch in file.iter_batches():
                yield arrow.RecordBatch.from_arrays(batch.columns, schema=schema)

        return arrow.RecordBatchReader.from_batches(schema, batches())


def _library() -> Any:
    """The library that reads Parquet files: one that is imported already, else one that is installed."""
    names = ("pyarrow", "polars")
    for name in [name for name in names if name in sys.modules] + list(names):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ShallopError("tables need polars or pyarrow: pip install polars")
