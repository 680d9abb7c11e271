"""For all tests: programs are compiled anew, not taken from the user's cache on disk."""
import os

os.environ.setdefault("HEADWATER_CACHE_SIZE", "0")
