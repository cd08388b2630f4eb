"""The OpenStack Controller: one OpenStack region on Kubernetes from one resource."""
