//go:build small && !formats

package cmd

import "golang.org/x/text/encoding"

// rareEncoding returns nil: the tables are too large for a small build.
func rareEncoding(string) encoding.Encoding { return nil }
