"""Older path of `fray.fn_thunk`, whose module this is; it can be run too."""

import sys

import fray.fn_thunk

if __name__ == "__main__":
    sys.exit(fray.fn_thunk.main())
__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.fn_thunk
