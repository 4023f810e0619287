package x509

import (
	"context"
	"encoding/pem"
	"path"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type lookupArgs struct {
	Key     string
	Default any `default:"None"`
}

// lookup returns a pillar.get or config.get that knows only the signing policies.
func lookup(fun string, policies *data.Map) loader.Func {
	return loader.F(fun, func(_ context.Context, a lookupArgs) (any, error) {
		if a.Key == "x509_signing_policies" && policies != nil {
			return policies, nil
		}
		return a.Default, nil
	})
}

type globMatchArgs struct{ Tgt, MinionID string }

// glob is match.glob.
func glob() loader.Func {
	return loader.F("glob", func(_ context.Context, a globMatchArgs) (any, error) { return path.Match(a.Tgt, a.MinionID) })
}

func pemBytes(text []byte) []byte {
	b, _ := pem.Decode(text)
	return b.Bytes
}
