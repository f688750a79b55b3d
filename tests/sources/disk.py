"""A disk and a link to it that exist only in a test: things happen between any two steps of a look or a reading."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from specmon.errors import SourceLost
from specmon.sources.events import FileIdentity
from specmon.sources.looks import Batch, Evidence, FoundFile, Look, MovedFile, NoFile

PATH = "log"
HEAD = 4  # as few bytes as tell the files of this disk apart
TRUNCATION_STEPS = 20  # between two: of a life that began and ended during one reading nobody can tell what was read
READ = 5  # bytes in one reading: the follower is often behind


@dataclass(eq=False)
class Life:
    """What was written from one truncation of a file to the next."""

    number: int
    written: bytearray = field(default_factory=bytearray)
    is_over: bool = False
    died_offline: bool = False
    is_opened: bool = False  # the follower has read from it, or begun to
    shown: int = 0  # its size at the last look
    confirmed: int = 0  # its size at the look before that
    left: int | None = None  # its size when the follower turned to another file

    def show(self, size: int) -> None:
        """A look has seen it."""
        self.confirmed, self.shown = max(self.confirmed, self.shown), size


@dataclass(eq=False)
class File:
    inode: int
    life: Life


class Disk:
    """Files with names and numbers; the number of a deleted file that nobody holds is used again."""

    def __init__(self) -> None:
        self.names: dict[str, File] = {}
        self.lives: list[Life] = []
        self.held: File | None = None  # open on the far side
        self.is_offline = False
        self.writers: list[File] = []  # the file that is written, and those that a writer has not let go of
        self._bytes = iter(range(1, 250))  # no byte is ever written twice
        self.rotations = 0
        self.moment = 0  # steps from the beginning
        self._truncated_at = -TRUNCATION_STEPS

    def _new_life(self) -> Life:
        life = Life(len(self.lives))
        self.lives.append(life)
        return life

    def _end(self, file: File) -> None:
        if file is not self.held and file not in self.names.values():
            file.life.is_over = True
            file.life.died_offline |= self.is_offline

    def create(self) -> None:
        if PATH not in self.names:
            used = {file.inode for file in self.names.values()} | ({self.held.inode} if self.held else set())
            used |= {file.inode for file in self.writers}
            file = File(next(number for number in range(1, 1000) if number not in used), self._new_life())
            self.names[PATH] = file
            self.writers.append(file)

    def write(self, count: int, *, late: bool = False) -> None:
        """Append to the newest file, or to the one before."""
        if len(self.writers) > late:
            new = bytes(byte for _, byte in zip(range(count), self._bytes, strict=False))
            self.writers[-1 - late].life.written += new

    def truncate(self) -> None:
        if (file := self.names.get(PATH)) is not None and self.moment - self._truncated_at >= TRUNCATION_STEPS:
            self._truncated_at = self.moment
            file.life.is_over = True
            file.life.died_offline |= self.is_offline
            file.life = self._new_life()

    def rename(self) -> None:
        """As logrotate does; the writer keeps the old file until it lets go."""
        if (file := self.names.pop(PATH, None)) is not None:
            self.rotations += 1
            self.names[f"{PATH}.{self.rotations}"] = file

    def delete(self) -> None:
        if (file := self.names.pop(PATH, None)) is not None:
            self._end(file)

    def let_go(self) -> None:
        """Writers have reopened the log: only the newest file is written from now on."""
        del self.writers[:-1]

    def hold(self, file: File | None) -> None:
        last, self.held = self.held, file
        if last is not None:
            last.life.left = len(last.life.written)
        if last is not None and last is not file:
            self._end(last)


class Away(SourceLost):
    """The link was cut."""


class SimulatedReach:
    """Looks and reads as the far side does, one step after the other."""

    def __init__(self, disk: Disk, happenings: Iterable[object], *, gives_both: bool) -> None:
        self.disk = disk
        self.clock = 0.0
        self._happenings: Iterator[object] = iter(happenings)
        self._gives_both = gives_both
        self._offline_steps = 0
        self.is_over = False

    async def sleep(self, seconds: float) -> None:
        self.clock += seconds
        self._step(is_cut_off=True)

    def _step(self, *, is_cut_off: bool = False) -> None:
        """One thing happens on the disk, or to the link."""
        self.disk.moment += 1
        happening = next(self._happenings, None)
        if happening is None and not self.is_over:
            self.is_over = True  # what is missing is told at the latest when there is something to read again
            self.disk.create()
            self.disk.write(3)
        match happening:
            case ("write", int(count)):
                self.disk.write(count)
            case ("write late", int(count)):
                self.disk.write(count, late=True)
            case ("truncate and write", int(count)):
                self.disk.truncate()
                self.disk.write(count)
            case ("cut", int(steps)):
                self._offline_steps = steps
                self.disk.is_offline = True
                self.disk.hold(None)
            case str(name):
                getattr(self.disk, name.replace(" ", "_"))()
        if self._offline_steps:
            self._offline_steps -= 1
            if not is_cut_off:
                raise Away("the link is down")
        elif is_cut_off:
            self.disk.is_offline = False

    def _found(self, file: File, head: bytes = b"", size: int | None = None) -> FoundFile:
        return FoundFile(FileIdentity(1, file.inode, head), len(file.life.written) if size is None else size)

    def _look_at(self, name: str) -> FoundFile | None:
        for _ in range(5):
            first = self.disk.names.get(name)
            self._step()
            between = self.disk.names.get(name)
            head = b"" if between is None else bytes(between.life.written[:HEAD])
            self._step()
            second = self.disk.names.get(name)
            if first is second:
                if second is None:
                    return None
                second.life.show(len(second.life.written))
                return self._found(second, head)
        return None

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        self._step()
        at_path = self._look_at(path) or NoFile("no such file")
        if known is None:
            return Look(at_path)
        name = next((name for name, file in self.disk.names.items() if file.inode == known.inode), None)
        moved = None if name in (None, path) else self._look_at(name)
        if name is None or moved is None:
            return Look(at_path)
        numbers = sorted(int(other.removeprefix(f"{PATH}.")) for other in self.disk.names if other != PATH)
        for number in numbers:
            if number > int(name.removeprefix(f"{PATH}.")):
                later = self._look_at(f"{PATH}.{number}")
                next_file = None if later is None else MovedFile(f"{PATH}.{number}", later)
                return Look(at_path, MovedFile(name, moved), next_file)
        return Look(at_path, MovedFile(name, moved))

    @asynccontextmanager
    async def open(self, path: str, offset: int, watch: str, size: int) -> AsyncIterator[SimulatedOpenFile]:
        self._step()
        if (file := self.disk.names.get(path)) is None:
            raise SourceLost("the file could not be opened")
        self.disk.hold(file)
        file.life.left = None
        try:
            yield SimulatedOpenFile(self, file, offset, watch)
        finally:
            self.disk.hold(None)

    def read(self, file: File, offset: int, watch: str, known: int, *, is_first: bool) -> Batch:
        self._step()
        data = b"" if is_first else bytes(file.life.written[offset : offset + READ])
        self._step()
        if self._gives_both:
            places = [0, max(0, offset - HEAD)]
        else:
            places = [max(0, known - HEAD) if is_first or 0 < len(data) < READ else 0]
        evidence = tuple(Evidence(place, bytes(file.life.written[place : place + HEAD])) for place in places)
        self._step()
        seen, opened = self.disk.names.get(watch), self._found(file)
        life = file.life
        self._step()
        life.is_opened |= not is_first  # before, it may be another file than the follower meant
        life.show(opened.size)
        self.clock += 0.3
        return Batch(data, opened, None if seen is None else self._found(seen), evidence)


class SimulatedOpenFile:
    def __init__(self, reach: SimulatedReach, file: File, offset: int, watch: str) -> None:
        self._reach = reach
        self._file = file
        self._offset = offset
        self._watch = watch
        self._size = self._known = offset
        self._is_first = True

    async def next(self) -> Batch:
        batch = self._reach.read(self._file, self._offset, self._watch, self._known, is_first=self._is_first)
        if not self._is_first and len(batch.data) < READ:
            self._known = self._size
        self._is_first = False
        self._offset += len(batch.data)
        self._size = batch.opened.size
        return batch
