"""``python -m kedi_dap.debuggee``: run a program for the adapter that started this process."""

from __future__ import annotations

import sys

from kedi_dap.debuggee.bootstrap import main

sys.exit(main())
