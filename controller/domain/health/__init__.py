"""Health of the region: workloads, pods, probes, majorities."""
