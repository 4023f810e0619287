package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A signing is a request to be signed with version 4 of Amazon's signatures.
type signing struct {
	credentials
	method, host string
	path         string // escaped
	params       map[string]string
	location     string
	now          time.Time
}

// empty is the hash of an empty body.
const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// query returns the parameters in the order of their names, escaped.
func (s *signing) query() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(s.params)) {
		pairs = append(pairs, escape(name, "")+"="+escape(s.params[name], ""))
	}
	return strings.Join(pairs, "&")
}

// headers returns the headers of the request, with its signature.
func (s *signing) headers() map[string]string {
	stamp := s.now.UTC().Format("20060102T150405Z")
	headers := map[string]string{"x-amz-date": stamp, "host": s.host, "x-amz-content-sha256": empty}
	if s.token != "" {
		headers["x-amz-security-token"] = s.token
	}
	names := slices.Sorted(maps.Keys(headers))
	canonical := ""
	for _, name := range names {
		canonical += name + ":" + strings.TrimSpace(headers[name]) + "\n"
	}
	signed := strings.Join(names, ";")
	request := strings.Join([]string{s.method, s.path, s.query(), canonical, signed, empty}, "\n")
	scope := strings.Join([]string{stamp[:8], s.location, "s3", "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, digest(request)}, "\n")
	key := []byte("AWS4" + s.key)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	headers["Authorization"] = fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		s.id, scope, signed, hex.EncodeToString(mac(key, text)))
	return headers
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// quote escapes a path as urllib.parse.quote does: slashes stay.
func quote(path string) string { return escape(path, "/") }

// escape escapes all bytes but letters, digits, _.-~ and those in safe.
func escape(s, safe string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("_.-~"+safe, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
