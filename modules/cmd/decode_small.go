//go:build small

package cmd

import "golang.org/x/text/encoding"

// wideEncoding returns nothing: the tables of East Asia are too large for a small build.
func wideEncoding(string) encoding.Encoding { return nil }
