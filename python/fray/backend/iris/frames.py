"""The frames that callers and hosts of actors send each other, by kind; see `fray.backend.iris.channel`.

=========  ==========================================  ==================================================
from the   frame                                       body
caller     HELLO, the first one                        nothing
           CALL, STREAM                                method, arguments and keywords
           NEXT: one more item of a stream             nothing
           CANCEL: a call, or a stream                 nothing
           KILL                                        whether the actor may not be started again
           BYE, after ENDED: no call comes any more    nothing
host       VALUE of a call, ITEM of a stream           the value
           FAILURE of a call or stream                 the packed exception
           STOP: a stream has ended                    nothing
           ENDED: the actor                            the packed exception of every further call
=========  ==========================================  ==================================================
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Kind"]


class Kind(IntEnum):
    """Kinds of frames."""

    HELLO = 1
    CALL = 2
    STREAM = 3
    NEXT = 4
    CANCEL = 5
    KILL = 6
    BYE = 7
    VALUE = 10
    ITEM = 11
    FAILURE = 12
    STOP = 13
    ENDED = 14
