package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/netapi"
)

// mostHookParts limits the parts of the path of a hook.
const mostHookParts = 64

// FirstPart returns the first part of a path, without slashes.
func FirstPart(path string) string {
	part, _, _ := strings.Cut(strings.Trim(path, "/"), "/")
	return part
}

// HookTag returns the tag of the event of a hook: the path below the hook's address is its end. address
// is the option webhook_url, and rest the parts of the path behind the first one of the address. The
// error is a *netapi.Fault: 404 for a path that is not below the address, 400 for one that is no tag.
func HookTag(address string, rest []string) (string, error) {
	own := strings.Split(strings.Trim(address, "/"), "/")
	rest, ok := withoutPrefix(rest, own[1:])
	if !ok || len(rest) > mostHookParts || slices.Contains(rest, "") {
		return "", &netapi.Fault{Status: http.StatusNotFound, Text: "The path '/" + own[0] + "' was not found."}
	}
	tag := strings.Join(append([]string{"salt/netapi/hook"}, rest...), "/")
	if !utf8.ValidString(tag) || eventbus.CheckTag(tag) != nil || strings.ContainsAny(tag, "\r\n") {
		return "", &netapi.Fault{Status: http.StatusBadRequest, Text: "The path of a hook must be a tag of an event"}
	}
	return tag, nil
}

// HookPath returns the path of a hook below its address, as HookTag has it.
func HookPath(address string, rest []string) string {
	rest, _ = withoutPrefix(rest, strings.Split(strings.Trim(address, "/"), "/")[1:])
	return strings.Join(rest, "/")
}

func withoutPrefix(parts, prefix []string) ([]string, bool) {
	if len(parts) < len(prefix) {
		return nil, false
	}
	for i, part := range prefix {
		if parts[i] != part {
			return nil, false
		}
	}
	return parts[len(prefix):], true
}

// HookHeaders returns the headers of r for the event of a hook, without those that hold credentials:
// everybody who reads events would have them.
func HookHeaders(r *http.Request) *data.Map {
	m := data.NewMap("Host", r.Host, "Remote-Addr", Address(r).String())
	for name, values := range r.Header {
		if !isSecret(name) {
			m.Set(name, strings.Join(values, ", "))
		}
	}
	return m
}

// isSecret reports whether a header holds a credential, or a signature that can be sent again, by the words
// in its name.
func isSecret(header string) bool {
	header = strings.ToLower(header)
	return slices.ContainsFunc([]string{"authorization", "cookie", "token", "secret", "signature", "password", "passwd", "api-key",
		"apikey", "api_key", "access-key", "credential", "session", "jwt"}, func(word string) bool { return strings.Contains(header, word) })
}

// CheckHook checks that the sender of a hook knows its secret: X-Hub-Signature-256 is a SHA-256 HMAC
// of the body, as GitHub, Gitea and others send it, or X-Gitlab-Token is the secret itself. A hook with
// the secret "" needs none. The error is a *netapi.Fault.
func CheckHook(r *http.Request, secret string, body []byte) error {
	if secret == "" || proves(r, secret, body) {
		return nil
	}
	return &netapi.Fault{Status: http.StatusUnauthorized, Text: "The signature of the hook is missing or wrong"}
}

func proves(r *http.Request, secret string, body []byte) bool {
	if token := r.Header.Get("X-Gitlab-Token"); token != "" {
		return subtle.ConstantTimeCompare([]byte(token), []byte(secret)) == 1
	}
	sent, ok := signature(r)
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write(body)
	return ok && hmac.Equal([]byte(sent), sum.Sum(nil))
}

// signature returns the signature of a hook's body. ok is false if there is none, or the secret itself is
// in its place.
func signature(r *http.Request) (sum string, ok bool) {
	if r.Header.Get("X-Gitlab-Token") != "" {
		return "", false
	}
	b, err := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256="))
	return string(b), err == nil
}
