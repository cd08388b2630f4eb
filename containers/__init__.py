"""One composition root per container of the pod."""
