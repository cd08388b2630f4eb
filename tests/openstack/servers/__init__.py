"""OpenStackServers on a real OpenStack, served by the real container."""
