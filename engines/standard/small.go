//go:build small && !web

package standard

import "github.com/brineproject/brine/engines"

// web returns no engines: a small build has no HTTP.
func web() map[string]engines.Make { return nil }
