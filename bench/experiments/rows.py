# SPDX-License-Identifier: GPL-2.0
"""What experiments have in common whose guests print rows: lines of "row " and a JSON object."""
import datetime
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "build"))
from paths import ROOT  # noqa: E402


def boot(kernel, *options):
    """Boot one guest, with options of scripts/guest/boot.py and the script with its arguments. Its status, rows and output."""
    done = subprocess.run([f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, *options], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True)
    return done.returncode, [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("row ")], done.stdout


def booted(name, kernel, *options):
    """The rows of a guest; ends with a message if that has failed."""
    status, rows, output = boot(kernel, *options)
    if status:
        sys.exit(f"{name}: the guest ended with status {status}\n{output[-2000:]}")
    return rows


def keep(path, name, data):
    """Write a result, and with it the command, the date and the commit."""
    made = {"command": " ".join([f"bench/experiments/{name}/run.py", *sys.argv[1:]]),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "repository": subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                                         stdout=subprocess.PIPE).stdout.strip()}
    with open(path, "w") as f:
        json.dump({**made, **data}, f, indent=1)
        f.write("\n")
