"""The OpenStackDeployment: its spec, its features and rules, its plan, its summary and Ready."""
