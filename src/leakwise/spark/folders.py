"""Folders on the file systems that the driver can reach: looked at, removed, and moved without replacing anything."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Folders", "HadoopFolders", "LocalFolders"]


class Folders(Protocol):
    """What a release asks of a file system. Paths are texts with a scheme, as Spark takes them."""

    def exists(self, path: str) -> bool:
        """Tell whether there is something at a path."""

    def beginning_with(self, path: str) -> list[str]:
        """List the paths that begin with a path, in its folder."""

    def make(self, path: str) -> None:
        """Make a folder, and those that it lies in."""

    def remove(self, path: str) -> None:
        """Remove a folder with all that it holds."""

    def read(self, path: str) -> bytes | None:
        """Read a small file; None where there is none."""

    def write(self, path: str, content: bytes) -> None:
        """Write a small file."""

    def move(self, source: str, target: str) -> bool:
        """Move a folder to where nothing is yet; False where something is, which stays as it was."""


class LocalFolders:
    """The file system of this machine, by its own calls: its rename is atomic and replaces no folder with files."""

    def __init__(self, *, private: bool) -> None:
        self._mode = 0o700 if private else 0o777

    def exists(self, path: str) -> bool:
        return os.path.lexists(_local(path))

    def beginning_with(self, path: str) -> list[str]:
        whole = _local(path)
        if not whole.parent.is_dir():
            return []
        return [f"file:{one}" for one in whole.parent.iterdir() if one.name.startswith(whole.name)]

    def make(self, path: str) -> None:
        _local(path).parent.mkdir(parents=True, exist_ok=True)
        _local(path).mkdir(mode=self._mode)

    def remove(self, path: str) -> None:
        shutil.rmtree(_local(path), ignore_errors=True)

    def read(self, path: str) -> bytes | None:
        try:
            return _local(path).read_bytes()
        except OSError:
            return None

    def write(self, path: str, content: bytes) -> None:
        _local(path).write_bytes(content)

    def move(self, source: str, target: str) -> bool:
        try:
            os.rename(_local(source), _local(target))
        except (FileExistsError, NotADirectoryError):
            return False
        except OSError:
            if _local(target).is_dir():  # "not empty" has different names on different systems
                return False
            raise
        return True


def _local(path: str) -> Path:
    return Path("/" + path.removeprefix("file:").lstrip("/")) if path.startswith("file:") else Path(path)


class HadoopFolders:
    """A file system that Hadoop knows, by way of the JVM of the driver."""

    def __init__(self, spark: Any) -> None:
        self._gateway, self._jvm = spark.sparkContext._gateway, spark._jvm
        self._settings = spark._jsc.hadoopConfiguration()

    def qualified(self, path: str) -> str:
        """Return the path with its scheme, as this session understands it."""
        place, system = self._at(path)
        return str(system.makeQualified(place).toString())

    def exists(self, path: str) -> bool:
        place, system = self._at(path)
        return bool(system.exists(place))

    def beginning_with(self, path: str) -> list[str]:
        place, system = self._at(path + "*")
        return [str(one.getPath().toString()) for one in system.globStatus(place) or ()]

    def make(self, path: str) -> None:
        place, system = self._at(path)
        system.mkdirs(place)

    def remove(self, path: str) -> None:
        place, system = self._at(path)
        system.delete(place, True)

    def read(self, path: str) -> bytes | None:
        place, system = self._at(path)
        if not system.exists(place):
            return None
        stream = system.open(place)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, content: bytes) -> None:
        place, system = self._at(path)
        stream = system.create(place, False)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def move(self, source: str, target: str) -> bool:
        from py4j.protocol import Py4JJavaError

        (old, system), (new, _) = self._at(source), self._at(target)
        hadoop = self._jvm.org.apache.hadoop.fs
        try:
            # Without an option it replaces nothing; on HDFS that is decided where the name is given.
            options = self._gateway.new_array(getattr(hadoop, "Options$Rename"), 0)
            hadoop.FileContext.getFileContext(new.toUri(), self._settings).rename(old, new, options)
        except Py4JJavaError as error:
            kind = error.java_exception.getClass().getSimpleName()
            if kind == "FileAlreadyExistsException":
                return False
            if kind != "UnsupportedFileSystemException":
                raise
            return _renamed(system, hadoop, old, new)
        return True

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place, place.getFileSystem(self._settings)


def _renamed(system: Any, hadoop: Any, old: Any, new: Any) -> bool:
    """The rename of the older interface, which moves a folder into one that is there already."""
    if system.exists(new):
        return False
    if not system.rename(old, new):
        return False
    inside = hadoop.Path(new, old.getName())
    if system.exists(inside):  # someone was faster
        system.delete(inside, True)
        return False
    return True
