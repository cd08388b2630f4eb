"""Commands that show a region as a page, as a drawing, or as it goes on."""
