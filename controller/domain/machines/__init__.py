"""MachineSets of machine.openshift.io, and their mirrors in Cluster API on OpenStack. Pure."""
