"""Small broken files of every kind that users have, and what must become of each.

Other tests run the whole program over them: each ends in a result with the repairs
named, or in one line that says what the file is.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]


@dataclass(frozen=True)
class BrokenFile:
    """A file to be given as a capture.

    Attributes:
        name: what is wrong with it; also the name of the file without suffix.
        data: its bytes.
        suffix: how its name ends.
        devices: device activities that must arrive; None if it must be refused.
        repairs: kinds of repairs that must be named.
        says: words that the refusal must contain.
        names: names of device activities that must arrive, where that is the point.
    """

    name: str
    data: bytes
    suffix: str = ".json"
    devices: int | None = None
    repairs: frozenset[str] = frozenset()
    says: str = ""
    names: tuple[str, ...] = field(default=())

    @property
    def file_name(self) -> str:
        """The file's name."""
        return self.name + self.suffix


def kernel(number: int, **changes: Any) -> Event:
    """A kernel of 5 µs; the next one starts 10 µs later."""
    return {
        "ph": "X",
        "cat": "kernel",
        "name": f"kernel_{number}",
        "pid": 0,
        "tid": 7,
        "ts": 1000.125 + 10 * number,
        "dur": 5.25,
        "args": {"device": 0, "stream": 7, "correlation": number},
        **changes,
    }


def launch(number: int, **changes: Any) -> Event:
    """The launch of that kernel, 4 µs before it."""
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 100,
        "tid": 100,
        "ts": 996.125 + 10 * number,
        "dur": 2.5,
        "args": {"correlation": number},
        **changes,
    }


def without(event: Event, *keys: str) -> Event:
    """The event without some of its fields."""
    return {key: value for key, value in event.items() if key not in keys}


def events_of(count: int = 5) -> list[Event]:
    """Kernels and their launches."""
    return [event for number in range(count) for event in (launch(number), kernel(number))]


def text_of(events: list[Any], **top: Any) -> str:
    """A capture in Kineto's layout: metadata, the events, the trace's name."""
    head = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, **top}
    body = json.dumps(head)[:-1] + ', "traceEvents": [\n'
    body += ",\n".join(json.dumps(event) for event in events)
    return body + '\n], "traceName": "/tmp/trace.json"}'


def bytes_of(events: list[Any] | None = None, **top: Any) -> bytes:
    """The same as bytes."""
    return text_of(events_of() if events is None else events, **top).encode()


def _with_kernel(number: int, **changes: Any) -> bytes:
    events = events_of()
    events[2 * number + 1] = kernel(number, **changes)
    return bytes_of(events)


def _replaced(old: str, new: bytes, count: int = 1) -> bytes:
    data = bytes_of()
    assert old.encode() in data
    return data.replace(old.encode(), new, count)


def zip_of(**members: bytes) -> bytes:
    """A zip; in the names, two underscores stand for a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return buffer.getvalue()


def tar_of(mode: str = "w", **members: bytes) -> bytes:
    """A tar; in the names, two underscores stand for a dot."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _begin_end() -> list[Event]:
    events = events_of()
    whole = kernel(2)
    events[5] = without({**whole, "ph": "B"}, "dur")
    end = {"ph": "E", "pid": 0, "tid": 7, "ts": whole["ts"] + whole["dur"], "args": {"bytes": 4096}}
    return [*events, end]


def _mended() -> list[BrokenFile]:
    """Files that must load after a repair."""
    whole = bytes_of()
    last = whole.index(b'"kernel_4"')
    listed = whole[whole.index(b"[\n") + 1 : whole.rindex(b"]") + 1]
    deep = b'{"a":' * 3000 + b"1" + b"}" * 3000

    def ok(name: str, data: bytes, devices: int = 5, *repairs: str, **more: Any) -> BrokenFile:
        return BrokenFile(name, data, devices=devices, repairs=frozenset(repairs), **more)

    return [
        ok("bom", b"\xef\xbb\xbf" + whole, 5, "bom"),
        ok("control_character", _replaced("kernel_1", b"ker\x01nel\n_1"), 5, "control_characters"),
        ok("control_character_outside", _replaced('"dur"', b'\x02"dur"'), 5, "control_characters"),
        ok(
            "escaped_nul",
            _replaced("kernel_1", rb"kernel_\u00001"),
            5,
            "nul_characters",
            names=("kernel_\N{REPLACEMENT CHARACTER}1",),
        ),
        ok(
            "nul",
            _replaced("kernel_1", b"kernel_\x001"),
            5,
            "nul_characters",
            names=("kernel_\N{REPLACEMENT CHARACTER}1",),
        ),
        ok(
            "backslash_before_u0000",
            _replaced("kernel_1", rb"kernel_\\u00001"),
            5,
            names=(r"kernel_\u00001",),
        ),
        ok("invalid_utf8", _replaced("kernel_1", b"kernel_\xff\xfe"), 5, "invalid_utf8"),
        ok("latin1", _replaced("kernel_1", "noyau_é".encode("latin-1")), 5, "invalid_utf8"),
        ok(
            "surrogate_pair",
            _replaced("kernel_1", rb"kernel_\ud83d\ude00"),
            5,
            "surrogate_escapes",
            names=("kernel_😀",),
        ),
        ok("lone_surrogate", _replaced("kernel_1", rb"kernel_\ud83d"), 5, "surrogate_escapes"),
        ok("nan_argument", _replaced('"stream": 7', b'"stream": NaN'), 5, "non_finite_numbers"),
        ok("infinity", _replaced('"stream": 7', b'"stream": -Infinity'), 5, "non_finite_numbers"),
        ok("c_nan", _replaced('"stream": 7', b'"stream": -nan'), 5, "non_finite_numbers"),
        ok(
            "nan_duration",
            _replaced('"dur": 5.25', b'"dur": NaN'),
            5,
            "non_finite_numbers",
            "missing_duration",
        ),
        ok("huge_number", _replaced('"dur": 5.25', b'"dur": 1e999'), 5, "non_finite_numbers"),
        ok(
            "windows_path",
            _replaced("kernel_1", rb"C:\Users\new\kernel_1"),
            5,
            "invalid_escapes",
            names=(r"C:\Users\new\kernel_1",),
        ),
        ok("windows_path_end", _replaced('kernel_1"', b'C:\\Users\\"'), 5, "invalid_escapes"),
        ok("truncated_in_event", whole[: last + 20], 4, "truncated"),
        ok("truncated_after_event", whole[: whole.rindex(b"\n]")], 5, "unclosed"),
        ok("truncated_after_comma", whole[: whole.rindex(b",\n") + 1], 4, "unclosed"),
        ok("truncated_after_list", whole[: whole.rindex(b"]") + 1], 5, "unclosed"),
        ok("truncated_in_trailer", whole[:-5], 5, "unreadable_metadata", "unclosed"),
        ok("truncated_list", b"[" + listed[: last + 20 - whole.index(b"[\n") - 1], 4, "truncated"),
        ok(
            "truncated_gzip",
            gzip.compress(whole, 0, mtime=0)[: last + 20],
            4,
            "truncated_gzip",
            suffix=".json.gz",
        ),
        ok(
            "gzip_checksum",
            _flip(gzip.compress(whole, mtime=0), -6),
            5,
            "damaged_gzip",
            suffix=".json.gz",
        ),
        ok("trailing_garbage", whole + b"\nconnection closed", 5, "trailing_garbage"),
        ok("two_traces", whole + whole, 5, "trailing_garbage"),
        ok("trailing_comma", whole.replace(b"\n]", b",\n]"), 5, "separators"),
        ok("missing_comma", whole.replace(b"},\n", b"}\n", 1), 5, "separators"),
        ok(
            "trailing_comma_inside",
            _replaced('"device": 0', b'"device": 0,').replace(b"0,, ", b"0, "),
            5,
        ),
        ok("text_numbers", _with_kernel(1, ts="1010.125", dur="5.25"), 5, "text_numbers"),
        ok("blank_in_text_number", _with_kernel(1, dur=" 5.25"), 5, "text_numbers"),
        ok("text_that_is_no_duration", _with_kernel(1, dur="long"), 5, "missing_duration"),
        ok("negative_duration", _with_kernel(1, dur=-3), 5, "negative_duration"),
        ok("null_duration", _with_kernel(1, dur=None), 5, "missing_duration"),
        ok("list_for_duration", _with_kernel(1, dur=[5]), 5, "wrong_types", "missing_duration"),
        ok("true_for_duration", _with_kernel(1, dur=True), 5, "wrong_types"),
        ok("negative_timestamp", _with_kernel(0, ts=-12.5), 5, "negative_timestamp"),
        ok("text_that_is_no_timestamp", _with_kernel(1, ts="soon"), 4, "unusable_timestamp"),
        ok("null_timestamp", _with_kernel(1, ts=None), 4, "unusable_timestamp"),
        ok("timestamp_beyond_64_bits", _with_kernel(1, ts=1e19), 4, "unusable_timestamp"),
        ok(
            "missing_duration",
            bytes_of([without(kernel(0), "dur"), kernel(1)]),
            2,
            "missing_duration",
        ),
        ok("missing_phase", bytes_of([without(kernel(0), "ph"), kernel(1)]), 2, "missing_phase"),
        ok("empty_events", bytes_of([{}, kernel(1), {}]), 1, "missing_phase"),
        ok("number_for_phase", bytes_of([kernel(0, ph=5), kernel(1)]), 1, "unreadable_events"),
        ok("object_for_category", bytes_of([launch(0, cat={}), kernel(1)]), 1, "wrong_types"),
        ok("list_for_thread", bytes_of([kernel(0, tid=[7]), kernel(1)]), 2, "wrong_types"),
        ok(
            "events_that_are_none",
            bytes_of([5, "x", None, [1], kernel(1)]),
            1,
            "unreadable_events",
        ),
        ok(
            "deep_nesting",
            _replaced('{"device": 0,', b'{"deep": ' + deep + b","),
            4,
            "unreadable_events",
        ),
        ok("stray_brace", whole.replace(b"},\n", b"}},\n", 1), 5, "unreadable_events"),
        ok("unclosed_string", _replaced('kernel_1"', b"kernel_1"), 4, "unreadable_events"),
        ok("missing_brace", whole.replace(b"}},\n", b"},\n", 1), 4, "unreadable_events"),
        ok("begin_end_pairs", bytes_of(_begin_end()), 5, "begin_end_pairs"),
        ok("begin_without_end", bytes_of(_begin_end()[:-1]), 5, "begin_end_pairs"),
        ok("overlong_kernel", _with_kernel(1, dur=3e6), 5, "overlong_kernels"),
        ok("overlapping", _with_kernel(1, dur=12.5), 5, "overlapping_slices"),
        ok("junk_between", whole.replace(b"},\n", b"}, garbage\n", 1), 5, "unreadable_events"),
        ok(
            "unreadable_preamble",
            whole.replace(b'"schemaVersion": 1', b'"schemaVersion" 1'),
            5,
            "unreadable_metadata",
        ),
        ok("list_of_other_things_too", b'[7, {"id": 1}, ' + listed, 5, "missing_phase"),
        ok("nan_in_preamble", whole.replace(b'"schemaVersion": 1', b'"version": NaN'), 5),
        ok("zip_with_readme", zip_of(trace__json=whole, README__txt=b"hello"), 5, suffix=".zip"),
        ok("wrong_suffix", gzip.compress(whole, mtime=0), 5, suffix=".json"),
    ]


def _flip(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 0xFF
    return bytes(changed)


def _refused() -> list[BrokenFile]:
    """Files that are no captures of GPU work."""
    cpu_only = bytes_of([launch(0, cat="cpu_op", name="aten::mm")])
    whole = bytes_of()

    def no(name: str, data: bytes, says: str, suffix: str = ".json") -> BrokenFile:
        return BrokenFile(name, data, suffix, says=says)

    return [
        no("empty", b"", "is empty"),
        no("blanks", b" \n\n ", "nothing but blanks"),
        no("empty_gzip", gzip.compress(b"", mtime=0), "empty or broken", ".json.gz"),
        no("broken_gzip", b"\x1f\x8b\x08\x00" + b"\xff" * 40, "empty or broken", ".json.gz"),
        no("no_events", bytes_of([]), "holds no events"),
        no("cpu_only", cpu_only, "no GPU kernel"),
        no("mtia", bytes_of([launch(0, cat="mtia_ccp_events")]), "MTIA"),
        no("cupti_ranges", bytes_of([launch(0, cat="cuda_profiler_range")]), "hardware counter"),
        no("truncated_in_preamble", whole[:40], "traceEvents"),
        no("truncated_in_first_event", whole[: whole.index(b"cudaLaunch")], "no events"),
        no("other_json", b'{"name": "config", "layers": 24}', "no capture"),
        no("null_events", b'{"traceEvents": null}', "traceEvents"),
        no("notebook", b'{"cells": [], "metadata": {}, "nbformat": 4}', "no capture", ".ipynb"),
        no("settings", b'[build-system]\nrequires = ["hatchling"]\n', "no capture", ".toml"),
        no("program", b"[print(x) for x in range(3)]\n", "no capture", ".py"),
        no("words", b'["kernel", "gemm"]', "no capture"),
        no("other_objects", b'[{"id": 1, "name": "gemm"}, {"id": 2}]', "no capture"),
        no("log", b'[INFO] loaded\n[INFO] step {"loss": 1.5}\n', "no capture", ".out"),
        no("empty_list", b" [ ]\n", "holds no events"),
        no("truncated_list_of_one", b'[{"name": "gemm", "c', "holds no events"),
        no("json_number", b"17", "no capture"),
        no("lines", b"\n".join(json.dumps(e).encode() for e in events_of()), "per line"),
        no(
            "lfs_pointer",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "git lfs pull",
            ".json.gz",
        ),
        no("web_page", b"<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
        no(
            "execution_trace",
            b'{"schema": "1.0.3-chakra.0.0.4", "pid": 1, "time": "2024", "nodes": [{"id": 1}]}',
            "execution trace",
        ),
        no("memory_timeline", b"[[1700000000, 1700000020], [[0, 0, 0, 512]]]", "memory timeline"),
        no("memory_snapshot", b'{"segments": [{"device": 0, "address": 14}]}', "memory snapshot"),
        no("pickle", b"\x80\x04\x95\x10\x00\x00", "pickle", ".pickle"),
        no("nsys_sqlite", b"SQLite format 3\x00" + bytes(100), "nsys", ".sqlite"),
        no("nsys_report", b"\x00\x01\x02binary", "nsys", ".nsys-rep"),
        no("nsys_csv", b"Start (ns),Duration (ns),CorrId,Name\n1,2,3,k\n", "nsys", ".csv"),
        no("rocprofv3_json", b'{"rocprofiler-sdk-tool":[{"metadata":{}}]}', "rocprofv3"),
        no("rocprofv3_csv", b'"Kind","Agent_Id","Queue_Id"\n"K",1,2\n', "rocprofv3", ".csv"),
        no("zstd", b"\x28\xb5\x2f\xfd" + bytes(20), "zstd", ".json.zst"),
        no("utf16", whole.decode().encode("utf-16"), "UTF-16"),
        no("zip_of_nothing", zip_of(), "without a capture", ".zip"),
        no("zip_of_text", zip_of(a__txt=b"hello"), "without a capture", ".zip"),
        no("zip_of_two", zip_of(a__json=whole, b__json=whole), "2 captures", ".zip"),
        no("truncated_zip", zip_of(a__json=whole)[:-30], "archive", ".zip"),
        no("damaged_zip", _flip(zip_of(a__json=whole), 200), "archive", ".zip"),
        no("tar_of_two", tar_of(a__json=whole, b__json=whole), "2 captures", ".tar"),
        no("truncated_tgz", tar_of("w:gz", a__json=whole * 50)[:-200], "archive", ".tgz"),
        no("binary", bytes(range(1, 256)) * 4, "no capture", ".bin"),
        no("pftrace_without_gpu", b"\x0a\x04\x40\x05\x50\x01" * 4, "render stages", ".pftrace"),
    ]


def broken_files() -> list[BrokenFile]:
    """All of them; their names are distinct."""
    return _mended() + _refused()
