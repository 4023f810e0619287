//go:build small

package cmd

import "golang.org/x/text/encoding"

// wideEncoding returns nil: the tables of East Asian encodings are too large for a small build.
func wideEncoding(string) encoding.Encoding { return nil }
