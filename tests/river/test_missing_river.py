"""Without River, the message names the extra, and the rest of the package works."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_RIVER = "import sys; sys.modules['river'] = sys.modules['river.base'] = None\n"


def run_without_river(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT_RIVER + code], capture_output=True, text=True, check=False)


def test_the_message_names_the_extra():
    done = run_without_river("from novikoff.river import Classifier")
    assert done.returncode == 1
    assert "novikoff.river needs river: pip install 'novikoff[river]'." in done.stderr


def test_the_package_is_imported_without_river():
    assert run_without_river("import novikoff.river; assert 'Classifier' in dir(novikoff.river)").returncode == 0
    code = "import sys, novikoff; novikoff.AROW().learn_one({'a': 1.0}, 0); assert 'river' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
