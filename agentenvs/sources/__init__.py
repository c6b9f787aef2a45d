"""Where official data comes from: pinned, fetched on first use, never redistributed."""

from agentenvs.sources._archive import Archive
from agentenvs.sources._cache import working_folder
from agentenvs.sources._files import Files
from agentenvs.sources._find import import_, open_source, pull
from agentenvs.sources._home import cache_folder
from agentenvs.sources._manifest import members, names, source
from agentenvs.sources._progress import Progress, console_progress, quiet
from agentenvs.sources._pypi import PyPIWheel
from agentenvs.sources._source import Made, NeededFile, Source, Way
from agentenvs.sources._stamps import file_digest
from agentenvs.sources._state import Status, status, verify
from agentenvs.sources._states import ClassState, ClassStates
from agentenvs.sources._tree import Origin, Tree

__all__ = [
    "Archive",
    "ClassState",
    "ClassStates",
    "Files",
    "Made",
    "NeededFile",
    "Origin",
    "Progress",
    "PyPIWheel",
    "Source",
    "Status",
    "Tree",
    "Way",
    "cache_folder",
    "console_progress",
    "file_digest",
    "import_",
    "members",
    "names",
    "open_source",
    "pull",
    "quiet",
    "source",
    "status",
    "verify",
    "working_folder",
]
