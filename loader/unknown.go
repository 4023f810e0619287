package loader

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// Unknown returns the invocation error for keyword arguments that a function does not take (invalid_kwargs of salt/utils/args.py); nil
// when there are none. It shows no secrets: neither what [config.IsSecret] knows nor what a name was meant to be that is misspelt.
func Unknown(words *data.Map) error {
	if words.Len() == 0 {
		return nil
	}
	var shown []string
	for name, value := range words.All() {
		shown = append(shown, told(data.Str(name), value))
	}
	return Invocation("The following keyword arguments are not valid: %s", strings.Join(shown, ", "))
}

func told(name string, value any) string {
	if meansSecret(name) {
		return name + "=" + config.Hidden
	}
	return name + "=" + data.Str(config.Masked(name, value))
}

// meansSecret tells whether a name looks like that of a secret with a wrong letter.
func meansSecret(name string) bool {
	return slices.ContainsFunc([]string{"pas", "pwd", "pw", "secr", "tok", "cred", "auth", "priv"}, func(part string) bool {
		return strings.Contains(strings.ToLower(name), part)
	})
}
