"""One composition root per container of the pod."""

import os
import signal

if os.getpid() == 1:
    # The first process of a container ignores signals without a handler, and it gets its own only once
    # everything is imported and read. Without this, a signal before that would be lost.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
