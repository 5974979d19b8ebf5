"""Kills, full disks and limits, done for real to the program itself."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.engines.conftest import spark_environment, wait_until
from tests.engines.part_tables import declared, new_account, table
from understudy.errors import ReleaseError
from understudy.privacy.account import ChargeState
from understudy.release.verify import verify_release


class TestFaults:
    """Done for real, to the program itself."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> Path:
        pq.write_table(table(), tmp_path / "t.parquet")
        declared().save(tmp_path / "book.toml")
        new_account(tmp_path / "a.account")
        return tmp_path

    def command(self, folder: Path, rows: int, out: Path, *more: str) -> list[str]:
        return [
            sys.executable, "-c", "from understudy.cli.app import main; main()", "synth", str(folder / "t.parquet"),
            "-c", str(folder / "book.toml"), "-m", "pegs", "--epsilon-per-record", "1", "--delta", "1e-6",
            "--rows", str(rows), "-o", str(out), "--account", str(folder / "a.account"), "--engine", "local",
            *more,
        ]  # fmt: skip

    def test_sigkill_between_two_parts(self, files: Path) -> None:
        out = files / "release"
        command = self.command(files, 3_000_000, out, "--part-rows", "150000", "--workers", "1")
        running = subprocess.Popen(command, env=spark_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        receipts = files / "release.unfinished/receipts"
        try:
            wait_until(lambda: len(list(receipts.glob("part-*.json"))) >= 2, 120, "two parts")
        finally:
            os.kill(running.pid, signal.SIGKILL)
            running.communicate()
        account = us.Account.open(files / "a.account")
        assert [charge.state for charge in account.history()] == [ChargeState.HELD]  # the charge came first
        assert not out.exists()
        kept = {json.loads(path.read_text())["digest"] for path in receipts.glob("part-*.json")}
        for place in (files / "release.unfinished", files / "release.unfinished/release"):
            with pytest.raises(ReleaseError):
                verify_release(place)
        done = subprocess.run(
            [*command, "--json"], env=spark_environment(), capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        manifest = json.loads((out / "manifest.json").read_text())
        assert kept <= set(manifest["files"].values())
        assert manifest["parts"] == 20
        assert verify_release(out).problems == ()
        [charge] = account.history()
        assert charge.state == ChargeState.COMMITTED and charge.release_id == manifest["release"]

    def test_a_file_system_that_takes_no_more(self, files: Path) -> None:
        """The kernel refuses to let a file grow, as it does when a disk or a quota is full."""
        out = files / "release"
        command = self.command(files, 300_000, out, "--part-rows", "300000")

        def small_files() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        environment = {**spark_environment(), "NUMBA_CACHE_DIR": str(files / "cache")}
        subprocess.run(  # compiled code goes into its cache before files become small
            self.command(files, 10, files / "warm"), env=environment, capture_output=True, timeout=300, check=True
        )
        full = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False, preexec_fn=small_files
        )
        assert full.returncode == 2, full.stdout + full.stderr
        assert "could not be finished" in full.stderr and "0 of 300,000 rows are safe" in full.stderr
        assert "Traceback" not in full.stderr
        assert not out.exists()
        assert list((files / "release.unfinished/release/synthetic").iterdir()) == []
        again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert again.returncode == 0, again.stderr
        assert verify_release(out).problems == ()
        states = [charge.state for charge in us.Account.open(files / "a.account").history()]
        assert states == [ChargeState.COMMITTED, ChargeState.COMMITTED]  # the warm-up and this one

    @pytest.mark.long
    def test_a_full_disk(self, files: Path) -> None:
        small = files / "small"
        small.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("group disk: a small file system cannot be mounted here")
        try:
            full = subprocess.run(
                self.command(files, 3_000_000, small / "release", "--part-rows", "500000"),
                env=spark_environment(), capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert full.returncode == 2, full.stdout + full.stderr
            assert "No space left on device" in full.stderr and "Free space first" in full.stderr
            assert "Traceback" not in full.stderr
            assert not (small / "release").exists()
            [charge] = us.Account.open(files / "a.account").history()
            assert charge.state == ChargeState.HELD
            subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
            again = subprocess.run(
                self.command(files, 3_000_000, small / "release", "--part-rows", "500000"),
                env=spark_environment(), capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert again.returncode == 0, again.stderr
            assert verify_release(small / "release").problems == ()
            assert len(us.Account.open(files / "a.account").history()) == 1
        finally:
            subprocess.run(["umount", "-l", str(small)], check=False)
