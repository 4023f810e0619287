package python

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/payload"
)

// The data cache that plug-ins use (host/salt/cache.py). The first argument of each operation is the
// cachedir, None for that of the options.

// bank calls do with the cache below the cachedir.
func (f *Files) bank(args arguments, do func(b cache.Bank) error) error {
	dir := args.text(0)
	if dir == "" {
		dir = f.env.Opts.Text("cachedir")
	}
	b, err := localfs.Open(dir)
	if err != nil {
		return err
	}
	err = errors.Join(do(b), b.Close())
	if errors.Is(err, cache.ErrNotFound) {
		return nil
	}
	return err
}

// cacheGet returns a value, nil if it is not there.
func (f *Files) cacheGet(_ context.Context, args arguments) (v any, err error) {
	err = f.bank(args, func(b cache.Bank) error {
		raw, err := b.Fetch(args.text(1), args.text(2))
		if err != nil {
			return err
		}
		v, err = payload.UnmarshalText(raw, payload.WireLimits())
		return err
	})
	return v, err
}

// cacheSet stores a value.
func (f *Files) cacheSet(_ context.Context, args arguments) (any, error) {
	raw, err := payload.MarshalBin(args[3])
	if err != nil {
		return nil, fmt.Errorf("store %s/%s in the cache: %w", args.text(1), args.text(2), err)
	}
	return nil, f.bank(args, func(b cache.Bank) error { return b.Store(args.text(1), args.text(2), raw) })
}

// cacheList returns the keys of a bank.
func (f *Files) cacheList(_ context.Context, args arguments) (any, error) {
	found := []any{}
	err := f.bank(args, func(b cache.Bank) error {
		keys, err := b.List(args.text(1))
		for _, key := range keys {
			found = append(found, key)
		}
		return err
	})
	return found, err
}

// cacheFlush removes a value, or a whole bank if the key is None.
func (f *Files) cacheFlush(_ context.Context, args arguments) (any, error) {
	return nil, f.bank(args, func(b cache.Bank) error { return b.Flush(args.text(1), args.text(2)) })
}

// cacheTime returns when a value was stored in seconds, nil if it is not there.
func (f *Files) cacheTime(_ context.Context, args arguments) (at any, err error) {
	err = f.bank(args, func(b cache.Bank) error {
		when, err := b.Updated(args.text(1), args.text(2))
		if err == nil {
			at = when.Unix()
		}
		return err
	})
	return at, err
}
