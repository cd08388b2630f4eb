"""An upgrade of OpenStack with pods that run; make test-real-upgrade."""
