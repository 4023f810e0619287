package config

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// Hidden replaces a value that must not be shown.
const Hidden = "**********"

// Explain writes the effective options as YAML, sorted, each with the place that set it. Passwords
// are hidden.
func Explain(w io.Writer, opts *data.Map, report *Report) error {
	names := make([]string, 0, opts.Len())
	for _, k := range opts.Keys() {
		if name, ok := k.(string); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := explain(w, name, opts.Value(name), report); err != nil {
			return err
		}
	}
	return nil
}

func explain(w io.Writer, name string, value any, report *Report) error {
	text, err := yaml.Dump(data.NewMap(name, masked(name, value)),
		yaml.DumpOptions{Flow: yaml.Always, Width: -1})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	line := strings.TrimSuffix(strings.TrimSpace(string(text)), "}")
	from := "default"
	if at, ok := report.Sources[name]; ok {
		from = at.String()
	}
	_, err = fmt.Fprintf(w, "%s  # %s\n", strings.TrimPrefix(line, "{"), from)
	return err
}

// Masked returns a copy of value, the value of option name, with [Hidden] in place of everything
// that [IsSecret] matches. The value itself is not changed.
func Masked(name string, value any) any { return masked(name, value) }

// masked returns a value without its passwords. Everything below the name of a secret is one.
func masked(name string, value any) any {
	if IsSecret(name) && data.Truth(value) {
		return Hidden
	}
	switch v := value.(type) {
	case *data.Map:
		m := &data.Map{}
		for k, e := range v.All() {
			m.Set(masked("", k), masked(nameIn(v, k), e))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = masked(name, v[i])
		}
		return list
	case string:
		return urlPassword().ReplaceAllString(v, "${1}"+Hidden+"@")
	}
	return value
}

// urlPassword matches the user part of a URL up to the password, and the password.
var urlPassword = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^/?#\s:@]*:)([^/?#\s]+)@`)
})

// nameIn returns the name of a value in a dictionary. A key next to a keyid belongs to a module
// (ext_pillar s3).
func nameIn(m *data.Map, key any) string {
	name := data.Str(key)
	if name == "key" && m.Has("keyid") {
		return "s3.key"
	}
	return name
}

// IsSecret reports whether the value of an option, and everything below it, must be hidden:
// passwords, passphrases, tokens, keys that are not paths.
func IsSecret(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "token_dir", "token_expire", "token_file", "token_expire_user_override", "eauth_tokens",
		"keep_acl_in_token", "pass_dir", "pass_gnupghome", "pass_strict_fetch",
		"pass_to_ext_pillars", "pass_variable_prefix":
		return false
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_.:-", r) })
	if slices.ContainsFunc(parts, isSecretWord) {
		return true
	}
	dot := strings.LastIndexAny(name, ".:")
	switch last := name[dot+1:]; last {
	case "auth", "webhook":
		return true
	case "key":
		return dot >= 0 // of a module, such as s3.key
	}
	n := len(parts)
	return n > 1 && parts[n-1] == "key" && isSecretKey(parts[n-2])
}

// isSecretWord reports whether a part of a name marks a secret.
func isSecretWord(part string) bool {
	switch part {
	case "pass", "pw", "bindpw", "credential", "credentials", "apikey", "privatekey", "psk":
		return true
	}
	for _, ending := range []string{"passwd", "password", "passphrase", "secret", "token"} {
		if strings.HasSuffix(part, ending) {
			return true
		}
	}
	return false
}

// isSecretKey reports whether an option contains a key of that kind itself; for other kinds it
// contains the path.
func isSecretKey(kind string) bool {
	return slices.Contains([]string{"access", "account", "api", "auth", "encryption", "private",
		"shared", "storage"}, kind)
}

// Secrets returns the values in opts that must not be logged, at any depth.
func Secrets(opts *data.Map) []string { return secretsIn(nil, opts, false) }

// secretsIn appends the secrets in a value. Below the name of a secret, every text and number is
// one.
func secretsIn(found []string, value any, secret bool) []string {
	switch v := value.(type) {
	case *data.Map:
		for k, e := range v.All() {
			name := nameIn(v, k)
			found = secretsIn(found, k, false)
			found = secretsIn(found, e, IsSecret(name) || secret && !isPlain(name))
		}
	case []any:
		for _, e := range v {
			found = secretsIn(found, e, secret)
		}
	case string:
		if secret && v != "" {
			return append(found, v)
		}
		for _, m := range urlPassword().FindAllStringSubmatch(v, -1) {
			found = append(found, m[2])
		}
	case int64:
		if secret && (v >= 100_000 || v <= -100_000) { // shorter numbers occur in all logs
			found = append(found, data.Str(v))
		}
	}
	return found
}

// isPlain reports whether a key next to a secret has a value that is a common word in logs, as in
// {auth: {method: token}}.
func isPlain(name string) bool {
	return slices.Contains([]string{"method", "mount", "name", "type", "url", "user", "username"},
		name)
}
