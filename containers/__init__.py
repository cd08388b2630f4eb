"""One composition root per container of the pod."""

import os
import signal

if os.getpid() == 1:
    # The first process of a container does not heed a signal that it has no handler for, and it gets its own
    # only once everything is imported and read: told to stop before that, it would last until it is killed.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
