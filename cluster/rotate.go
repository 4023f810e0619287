package cluster

import (
	"context"
	"errors"
	"fmt"
)

// Reseal seals the records of keys, leases and fences, and the values of all shelves, that an older
// cluster key sealed with the one that writes now, and returns how many. After it, and a day later
// for publications and returns, the older key can leave the key file. The error wraps ErrUnknownKey, and
// names the value, if one is sealed with a key that this member lacks.
func (c *Cluster) Reseal(ctx context.Context) (done int, err error) {
	same := func(v value) ([]byte, error) { return v.body, nil }
	renew := map[string]func(value) ([]byte, error){forKeys: same, forLeases: same, forFences: same}
	for _, shelf := range shelves() {
		renew[string(shelf)] = renewRecord
	}
	for what, body := range renew {
		n, err := c.reseal(ctx, c.bucket(what), body)
		done += n
		if err != nil {
			return done, fmt.Errorf("seal bucket %s anew: %w", c.name(what), err)
		}
	}
	return done, nil
}

// reseal writes what body returns for each value that an older cluster key sealed.
func (c *Cluster) reseal(
	ctx context.Context, b *bucket, body func(value) ([]byte, error),
) (done int, err error) {
	old := map[string]value{}
	err = c.snapshot(ctx, b, func(key string, v value) error {
		if !v.current {
			old[key] = v
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for key, v := range old {
		next, err := body(v)
		if err != nil {
			return done, err
		}
		_, err = b.set(ctx, key, next, v.revision)
		if errors.Is(err, ErrConflict) {
			continue // it was written meanwhile, with the new key
		}
		if err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}
