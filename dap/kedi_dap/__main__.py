"""``python -m kedi_dap``: the debug adapter."""

from __future__ import annotations

import sys

from kedi_dap.supervisor.main import main

sys.exit(main())
