"""HelmBundles and their releases: state and next action, hooks, drift, plans, immutable fields, size."""
