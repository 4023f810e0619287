// Package cache defines the interface of a store for small data.
//
// Data lies in banks, such as "minions/web1", under keys, such as "data"; a value is bytes that
// only the caller interprets. The names and the files of the default implementation, cache/localfs,
// are those of Salt's salt/cache/localfs.py, so that Salt's own tools on the host find their data.
package cache

import (
	"errors"
	"time"
)

// ErrNotFound is returned for a key that is not in its bank.
var ErrNotFound = errors.New("not in the cache")

// A Bank stores values by bank and key. It is safe for concurrent use. A bank is one or more names
// separated by slashes. Names contain no other slash, no backslash and no NUL, and do not begin
// with a dot. Other names are errors.
type Bank interface {
	// Fetch returns the value of key; the error wraps ErrNotFound if there is none.
	Fetch(bank, key string) ([]byte, error)
	// Store sets the value of key. A reader sees the old value or the new one, never a part of one.
	Store(bank, key string, value []byte) error
	// Flush removes key, or the whole bank if key is empty. A missing key or bank is not an error.
	Flush(bank, key string) error
	// List returns the keys of bank and the banks directly below it, sorted; none if the bank does
	// not exist.
	List(bank string) ([]string, error)
	// Updated returns when key was last set; the error wraps ErrNotFound if it is not set.
	Updated(bank, key string) (time.Time, error)
}

// A Closer is a Bank with connections or files that its owner closes.
type Closer interface {
	Bank
	Close() error
}
