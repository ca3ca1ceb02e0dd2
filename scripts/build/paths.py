# SPDX-License-Identifier: GPL-2.0
"""Where things are, for all Python programs of this repository.

  sys.path.insert(0, ".../scripts/build"); from paths import BUILD, ROOT

ROOT is the repository, BUILD the directory in which everything is built. The shell scripts
take both from lib.sh, which has the same default.
"""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD") or
                        os.path.expanduser("~/.cache/scaleswap/build"))
