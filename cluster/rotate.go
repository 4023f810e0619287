package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Reseal seals the records of keys, leases and fences, and the values of all shelves, that an older
// cluster key sealed with the one that writes now, and returns how many. After it, and a day later
// for publications and returns, the older key can leave the key file. What is sealed with a key that this
// member lacks stays as it is: the error wraps ErrUnknownKey then, and names it. What somebody without any
// cluster key has written stays, too.
func (c *Cluster) Reseal(ctx context.Context) (done int, err error) {
	same := func(v value) ([]byte, error) { return v.body, nil }
	renew := map[string]func(value) ([]byte, error){forKeys: same, forLeases: same, forFences: same}
	for _, shelf := range shelves() {
		renew[string(shelf)] = renewRecord
	}
	var unknown []string
	for what, body := range renew {
		n, left, err := c.reseal(ctx, c.bucket(what), body)
		done += n
		if err != nil {
			return done, fmt.Errorf("seal bucket %s anew: %w", c.name(what), err)
		}
		unknown = append(unknown, left...)
	}
	if len(unknown) > 0 {
		return done, resealError(done, unknown)
	}
	return done, nil
}

// maxNamed is how many values an error of Reseal names.
const maxNamed = 5

func resealError(done int, unknown []string) error {
	slices.Sort(unknown)
	names := strings.Join(unknown[:min(len(unknown), maxNamed)], ", ")
	if n := len(unknown) - maxNamed; n > 0 {
		names += fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("%d values are sealed anew, %d are %w, which is not in the key file of this member: %s. "+
		"If no member has that key, a stranger has written them", done, len(unknown), ErrUnknownKey, names)
}

// reseal writes what body returns for each value that an older cluster key sealed. It returns the names of
// values that are sealed with an unknown key.
func (c *Cluster) reseal(
	ctx context.Context, b *bucket, body func(value) ([]byte, error),
) (done int, unknown []string, err error) {
	old := map[string]value{}
	foreign := map[string]bool{} // by name; a later entry may be another
	err = c.snapshot(ctx, b, func(key string, v value, err error) {
		delete(old, key)
		foreign[key] = errors.Is(err, ErrUnknownKey)
		if err == nil && !v.current {
			old[key] = v
		}
	})
	if err != nil {
		return 0, nil, err
	}
	for key, is := range foreign {
		if is {
			unknown = append(unknown, fmt.Sprintf("%q of bucket %s", key, b.name))
		}
	}
	for key, v := range old {
		next, err := body(v)
		if err != nil {
			return done, unknown, err
		}
		_, err = b.set(ctx, key, next, v.revision)
		if errors.Is(err, ErrConflict) {
			continue // it was written meanwhile, with the new key
		}
		if err != nil {
			return done, unknown, err
		}
		done++
	}
	return done, unknown, nil
}
