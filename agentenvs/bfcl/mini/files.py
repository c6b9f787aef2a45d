"""The `Files` world: a small shared drive with one level of folders and a bin."""

from __future__ import annotations

import copy
from typing import Any

from agentenvs.bfcl.mini.tool import (
    MAX_TEXT,
    RefusalError,
    Result,
    ToolWorld,
    fields,
    one_line,
    tool,
)
from agentenvs.errors import BadArgument

__all__ = ["Files"]

MAX_FILES = 100
MAX_FOLDERS = 30
MAX_MATCHES = 50
MAX_CONTENT = 5 * MAX_TEXT


class Files(ToolWorld):
    """Text files by path (`name` or `folder/name`), folders, a bin and protected files."""

    files: dict[str, str]
    folders: list[str]
    bin: dict[str, str]
    protected: list[str]

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        fields("Files", scenario, files=dict, folders=list, bin=dict, protected=list)
        given = copy.deepcopy(scenario)
        for key in ("folders", "protected"):
            if not all(isinstance(name, str) for name in given.get(key, [])):
                raise BadArgument(f"Expected {key!r} of Files to be a list of names.")
        self.files = given.get("files", {})
        self.folders = sorted(given.get("folders", []))
        self.bin = given.get("bin", {})
        self.protected = sorted(given.get("protected", []))
        for path, content in (*self.files.items(), *self.bin.items()):
            if not isinstance(content, str) or content != _tidy(content):
                raise BadArgument(f"Expected {path!r} of Files to be text with no last newline.")
            if "/" in path and path.split("/")[0] not in self.folders:
                raise BadArgument(f"Expected the folder of {path!r} to be among the folders.")
        if not set(self.protected) <= set(self.files):
            raise BadArgument("Expected `protected` of Files to name files.")

    @tool
    def list_files(self, folder: str = "") -> Result:
        """List the files in one folder.

        Args:
            folder: name of the folder; empty for the files that lie in no folder.
        """
        name = _folder(folder)
        if name:
            self._known_folder(name)
        prefix = f"{name}/" if name else ""
        inside = [p for p in self.files if p.startswith(prefix) and "/" not in p[len(prefix) :]]
        return {"folder": name, "files": sorted(inside)}

    @tool
    def list_folders(self) -> Result:
        """List all folders."""
        return {"folders": list(self.folders)}

    @tool
    def read_file(self, name: str) -> Result:
        """Show what is written in a file.

        Args:
            name: path of the file, for example 'todo.txt' or 'work/plan.txt'.
        """
        path = self._existing(name)
        return {"file": path, "content": self.files[path]}

    @tool
    def find_text(self, text: str) -> Result:
        """Search all files for a piece of text, whatever its case.

        Args:
            text: the words to look for.
        """
        wanted = one_line("text", text).casefold()
        matches = []
        for path in sorted(self.files):
            for number, line in enumerate(self.files[path].splitlines(), 1):
                if wanted in line.casefold():
                    matches.append({"file": path, "line": number, "text": line})
        return {"matches": matches[:MAX_MATCHES], "count": len(matches)}

    @tool
    def write_file(self, name: str, content: str) -> Result:
        """Write a file; what was in it before is replaced.

        Args:
            name: path of the file; it is created if it does not exist.
            content: the whole new text.
        """
        path = self._path(name)
        self._writable(path)
        return self._put(path, content)

    @tool
    def append_line(self, name: str, line: str) -> Result:
        """Add one line at the end of a file that exists.

        Args:
            name: path of the file.
            line: the line to add.
        """
        path = self._existing(name)
        self._writable(path)
        text = one_line("line", line, MAX_TEXT)
        old = self.files[path]
        return self._put(path, f"{old}\n{text}" if old else text)

    @tool
    def copy_file(self, name: str, new_name: str) -> Result:
        """Copy a file under another path.

        Args:
            name: path of the file.
            new_name: path of the copy, which must not exist yet.
        """
        path = self._existing(name)
        return self._put(self._free(new_name), self.files[path])

    @tool
    def rename_file(self, name: str, new_name: str) -> Result:
        """Give a file another name.

        Args:
            name: path of the file.
            new_name: its new path, which must not exist yet.
        """
        path = self._existing(name)
        self._writable(path)
        target = self._free(new_name)
        result = self._put(target, self.files[path], moving=True)
        del self.files[path]
        return result

    @tool
    def move_file(self, name: str, folder: str) -> Result:
        """Move a file into a folder, keeping its name.

        Args:
            name: path of the file.
            folder: name of the folder; empty to take the file out of its folder.
        """
        path = self._existing(name)
        where = _folder(folder)
        base = path.split("/")[-1]
        self._writable(path)
        target = self._free(f"{where}/{base}" if where else base)
        result = self._put(target, self.files[path], moving=True)
        del self.files[path]
        return result

    @tool
    def delete_file(self, name: str) -> Result:
        """Put a file into the bin.

        Args:
            name: path of the file.
        """
        path = self._existing(name)
        self._writable(path)
        if path not in self.bin and len(self.bin) >= MAX_FILES:
            raise RefusalError("The bin is full.")
        self.bin[path] = self.files.pop(path)
        return {"deleted": path}

    @tool
    def restore_file(self, name: str) -> Result:
        """Take a deleted file back out of the bin.

        Args:
            name: the path it had.
        """
        path = self._free(name)
        if path not in self.bin:
            listing = ", ".join(sorted(self.bin)) or "nothing"
            raise RefusalError(f"There is no {path!r} in the bin. It holds: {listing}.")
        result = self._put(path, self.bin[path])
        del self.bin[path]
        return result

    @tool
    def create_folder(self, name: str) -> Result:
        """Make a new folder.

        Args:
            name: its name; folders cannot lie in folders.
        """
        folder = self._path(_folder(name))
        if "/" in folder:
            raise RefusalError("Folders cannot lie in folders.")
        if folder in self.folders or folder in self.files:
            raise RefusalError(f"There is already a {folder!r}.")
        if len(self.folders) >= MAX_FOLDERS:
            raise RefusalError(f"There cannot be more than {MAX_FOLDERS} folders.")
        self.folders = sorted([*self.folders, folder])
        return {"folder": folder}

    @tool
    def protect_file(self, name: str, protected: bool) -> Result:
        """Guard a file against changes, or lift the guard.

        Args:
            name: path of the file.
            protected: true to guard it, false to lift the guard.
        """
        path = self._existing(name)
        others = [p for p in self.protected if p != path]
        self.protected = sorted([*others, path]) if protected else others
        return {"file": path, "protected": protected}

    def _path(self, name: str) -> str:
        text = one_line("name", name).removeprefix("./").removeprefix("/")
        parts = [part.strip() for part in text.split("/")]
        if len(parts) > 2 or any(part in ("", ".", "..") or len(part) > 60 for part in parts):
            raise RefusalError(
                "A path must be 'name' or 'folder/name', each of 1 to 60 characters."
            )
        return "/".join(parts)

    def _known_folder(self, folder: str) -> None:
        if folder not in self.folders:
            listing = ", ".join(self.folders) or "none"
            raise RefusalError(f"There is no folder {folder[:60]!r}. Folders: {listing}.")

    def _existing(self, name: str) -> str:
        path = self._path(name)
        if path not in self.files:
            raise RefusalError(f"There is no file {path!r}.")
        return path

    def _free(self, name: str) -> str:
        path = self._path(name)
        if path in self.files or path in self.folders:
            raise RefusalError(f"There is already a {path!r}.")
        return path

    def _writable(self, path: str) -> None:
        if path in self.protected:
            raise RefusalError(f"The file {path!r} is protected.")
        if path in self.folders:
            raise RefusalError(f"{path!r} is a folder.")

    def _put(self, path: str, content: str, moving: bool = False) -> Result:
        """Store a file and return the result that every tool which makes one shares."""
        if "/" in path:
            self._known_folder(path.split("/")[0])
        if path not in self.files and len(self.files) - moving >= MAX_FILES:
            raise RefusalError(f"There cannot be more than {MAX_FILES} files.")
        text = _tidy(content)
        if len(text) > MAX_CONTENT:
            raise RefusalError(f"A file cannot hold more than {MAX_CONTENT} characters.")
        self.files[path] = text
        return {"file": path, "lines": len(text.splitlines())}


def _folder(text: str) -> str:
    name = text.strip().strip("/")
    return "" if name == "." else name


def _tidy(content: str) -> str:
    """Return the text with plain line ends and none after the last line."""
    return "\n".join(content.splitlines()).rstrip("\n")
