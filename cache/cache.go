// Package cache says what a place for small data must do.
//
// Data lies in banks, such as "minions/web1", under keys, such as "data"; a value is bytes that only the caller
// understands. The names and the files of the default implementation, cache/localfs, are those of Salt's
// salt/cache/localfs.py, so that Salt's own tools on the host find what they look for.
package cache

import (
	"errors"
	"time"
)

// ErrNotFound is returned for a key that is not in its bank.
var ErrNotFound = errors.New("not in the cache")

// A Bank keeps values by bank and key. Several goroutines may use it. A bank is one or more names with slashes
// between them; names hold no other slash, no backslash, no NUL, and do not begin with a dot. Other names are errors.
type Bank interface {
	// Fetch returns the value of key; the error wraps ErrNotFound where there is none.
	Fetch(bank, key string) ([]byte, error)
	// Store sets the value of key. A reader sees the old value or the new one, never a part of one.
	Store(bank, key string, value []byte) error
	// Flush drops key, or the whole bank when key is empty. What is not there is no error.
	Flush(bank, key string) error
	// List returns the keys of bank and the banks right below it, sorted; none where the bank is not there.
	List(bank string) ([]string, error)
	// Updated returns when key was last set; the error wraps ErrNotFound where it is not.
	Updated(bank, key string) (time.Time, error)
}
