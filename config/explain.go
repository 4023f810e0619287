package config

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// hidden stands for a value that must not be shown.
const hidden = "**********"

// Explain writes the effective options as YAML, in order, each with the place that set it. Passwords are not shown.
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
	text, err := yaml.Dump(data.NewMap(name, masked(name, value)), yaml.DumpOptions{Flow: yaml.Always, Width: -1})
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

// masked returns a value of a name without the passwords in it.
func masked(name string, value any) any {
	switch v := value.(type) {
	case *data.Map:
		m := &data.Map{}
		for k, e := range v.All() {
			m.Set(k, masked(data.Str(k), e))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = masked(name, v[i])
		}
		return list
	}
	if IsSecret(name) && data.Truth(value) {
		return hidden
	}
	return value
}

// IsSecret reports whether the value of an option must not be shown: passwords, passphrases, tokens.
func IsSecret(name string) bool {
	switch name {
	case "token_dir", "token_expire", "token_file", "token_expire_user_override", "eauth_tokens", "keep_acl_in_token", "pass_dir", "pass_gnupghome",
		"pass_strict_fetch", "pass_to_ext_pillars", "pass_variable_prefix":
		return false
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == ':' }) {
		switch part {
		case "pass", "passwd", "password", "passphrase", "secret", "sharedsecret", "token", "apikey":
			return true
		}
	}
	return false
}

// Secrets returns the values in opts that must not be logged, at any depth.
func Secrets(opts *data.Map) []string { return secrets(nil, opts) }

func secrets(found []string, opts *data.Map) []string {
	for k, v := range opts.All() {
		name, _ := k.(string)
		found = secretsIn(found, name, v)
	}
	return found
}

func secretsIn(found []string, name string, v any) []string {
	switch v := v.(type) {
	case *data.Map:
		return secrets(found, v)
	case []any:
		for _, e := range v {
			found = secretsIn(found, name, e)
		}
	case string:
		if IsSecret(name) && v != "" {
			found = append(found, v)
		}
	}
	return found
}
