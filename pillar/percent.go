package pillar

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
)

var percentPlace = regexp.MustCompile(`%(\(([^)]*)\))?(.?)`)

// Percent replaces %(NAME)s in a text by a value, and %% by a percent sign, as the operator % of
// Python does. Anything else behind a percent sign is an error.
func Percent(text string, values *data.Map) (string, error) {
	var failed error
	out := percentPlace.ReplaceAllStringFunc(text, func(found string) string {
		m := percentPlace.FindStringSubmatch(found)
		switch {
		case m[1] == "" && m[3] == "%":
			return "%"
		case m[1] == "" || m[3] != "s" || !values.Has(m[2]):
			var known []string
			for name := range values.All() {
				known = append(known, "%("+data.Str(name)+")s")
			}
			failed = fmt.Errorf("%q is none of %s", found, strings.Join(known, ", "))
		}
		return data.Str(values.Value(m[2]))
	})
	return out, failed
}
