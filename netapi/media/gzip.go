package media

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strings"
)

// minCompressed is the size in bytes from which answers are compressed.
const minCompressed = 1024

const encodingHeader = "Accept-Encoding"

// addVary adds Accept-Encoding to the header Vary.
func addVary(h http.Header) {
	has := func(value string) bool {
		return slices.ContainsFunc(strings.Split(value, ","), func(name string) bool {
			return strings.EqualFold(strings.TrimSpace(name), encodingHeader)
		})
	}
	if !slices.ContainsFunc(h.Values("Vary"), has) {
		h.Add("Vary", encodingHeader)
	}
}

// wantsGzip reports whether the client of r accepts gzip, and does not prefer the plain answer.
func wantsGzip(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return false
	}
	codings, err := parseAccept(strings.Join(r.Header.Values(encodingHeader), ", "))
	if err != nil {
		return false
	}
	zip, plain, rest := -1.0, -1.0, -1.0
	for _, c := range codings {
		switch c.value {
		case "gzip", "x-gzip":
			zip = max(zip, c.q)
		case "identity":
			plain = c.q
		case "*":
			rest = c.q
		}
	}
	if zip < 0 {
		zip = rest
	}
	return zip > 0 && zip >= plain
}

// compress returns body in gzip's format, at the fastest level.
func (a *Answers) compress(body []byte) *buffer {
	out := a.buffer()
	z, ok := a.zips.Get().(*gzip.Writer)
	if !ok {
		z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for other levels only
	}
	z.Reset(out)
	_, _ = z.Write(body) // a buffer does not fail
	_ = z.Close()
	z.Reset(nil) // it holds no answer meanwhile
	a.zips.Put(z)
	return out
}
