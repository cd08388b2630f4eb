"""What packages of OpenStack call their options and rules."""
