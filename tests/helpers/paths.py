"""Paths of the repository and of the folder with real data sets."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA_FOLDER = Path(os.environ.get("NOVIKOFF_DATA", ROOT.parent / "shared" / "data"))
"""Folder of real data sets, by default beside the repository. Tests that need it are skipped where it is absent."""
