"""The region's OpenStack through openstacksdk."""
