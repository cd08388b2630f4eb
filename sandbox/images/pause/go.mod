module osctl.dev/sandbox/pause

go 1.26
