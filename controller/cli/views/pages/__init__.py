"""Pages and drawings of a region: self-contained, without a script, each text of the cluster escaped."""
