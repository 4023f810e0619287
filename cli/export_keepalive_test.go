package cli

// BeforeKeepalive is beforeKeepalive for tests of the programs.
func BeforeKeepalive(help string) string { return beforeKeepalive(help) }
