"""The upgrade of a region from one version of OpenStack to another: steps, gates and what each release is."""
