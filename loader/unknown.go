package loader

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// Unknown returns the invocation error for keyword arguments that a function does not take
// (invalid_kwargs of salt/utils/args.py), or nil if words is empty. It hides the values of secrets:
// names known to [config.IsSecret] and names that look like misspelled secrets.
func Unknown(words *data.Map) error {
	if words.Len() == 0 {
		return nil
	}
	var shown []string
	for name, value := range words.All() {
		shown = append(shown, formatKeyword(data.Str(name), value))
	}
	return Invocation("The following keyword arguments are not valid: %s",
		strings.Join(shown, ", "))
}

func formatKeyword(name string, value any) string {
	if looksSecret(name) {
		return name + "=" + config.Hidden
	}
	return name + "=" + data.Str(config.Masked(name, value))
}

// looksSecret reports whether a name looks like the misspelled name of a secret.
func looksSecret(name string) bool {
	return slices.ContainsFunc([]string{"pas", "pwd", "pw", "secr", "tok", "cred", "auth", "priv"},
		func(part string) bool {
			return strings.Contains(strings.ToLower(name), part)
		})
}
