//go:build small && !formats

package cmd

import "golang.org/x/text/encoding"

// codepage returns nil: a small build has only the encodings of one byte a character that
// encodingOf names.
func codepage(string) encoding.Encoding { return nil }

// wideEncoding returns nil: the tables of East Asian encodings are too large for a small build.
func wideEncoding(string) encoding.Encoding { return nil }
