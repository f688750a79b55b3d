"""specmon: is speculative decoding really faster, and is the baseline the one you think it is?"""

from __future__ import annotations

__version__ = "0.1.0"
