// Package mine stores what minions publish for one another (Salt's mine).
//
// A minion regularly sends the results of selected functions. Minions that are allowed to may ask
// for the last results of the minions that a target names. On a master a [Store] keeps them in its
// cache, as Salt does: key mine of the bank minions/ID is a dictionary of function names and
// values, so that Salt's own tools on the host find them (salt/daemons/masterapi.py,
// RemoteFuncs._mine and its neighbours). Values are not decoded on the way, and persist over a
// restart.
//
// A value may limit who may read it: it is then wrapped, see [Wrap]. On a minion [ParseDefinition]
// parses an entry of the option mine_functions (salt/utils/mine.py).
//
// # Stricter than Salt
//
// Differences from Salt on purpose:
//
//   - A target that asks for pillar names a minion by whole values, even as a regular expression of
//     the kind pillar_pcre: nobody can find out the pillar of others by guessing.
//   - allow_tgt excludes minions for which the master lacks the data that the target asks for. Salt
//     includes a minion without cached grains. An allow_tgt that cannot be parsed excludes
//     everyone.
//   - The size of a minion's mine is limited, see [MaxSize] and [MaxFunctions].
package mine

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// Limits of a minion's mine. An update that exceeds them is refused as a whole.
const (
	MaxSize      = 32 << 20 // bytes in the cache
	MaxFunctions = 4096
)

// Errors of a [Store] that callers handle differently.
var (
	// ErrTooBig is wrapped by Update if the mine of a minion would exceed its limits.
	ErrTooBig = errors.New("the mine of the minion would exceed its limits")
	// ErrTooMuch is wrapped by Get if there are more than 64 MiB of results, which are returned
	// with it.
	ErrTooMuch = errors.New("the results exceed the limit of a query")
	// ErrMalformed is wrapped for values that are not a dictionary of function names.
	ErrMalformed = errors.New("mine data is not a dictionary of function names")
)

const key = "mine"

// Bank returns the cache bank of a minion. It has the mine, and also the grains and pillar.
func Bank(id string) string { return "minions/" + id }

// A Store keeps the mines of all minions in a cache. It is safe for concurrent use, but Stores of
// other processes must not change the mine of the same minion at the same time.
type Store struct {
	bank  cache.Bank
	most  int // maximum bytes of a query's results
	seed  maphash.Seed
	locks [64]sync.Mutex // by hash of the minion; held while a mine is read and written
}

// NewStore returns a store that uses a cache.
func NewStore(bank cache.Bank) *Store {
	return &Store{bank: bank, most: maxFound, seed: maphash.MakeSeed()}
}

func (s *Store) lock(id string) *sync.Mutex {
	return &s.locks[maphash.String(s.seed, id)%uint64(len(s.locks))]
}

// Update adds values, a dictionary as received, to the mine of a minion. With replace they replace
// its content.
func (s *Store) Update(id string, values data.Raw, replace bool) error {
	binary, err := payload.Rewrite(values, true)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	fresh, err := payload.ParseFields(binary, limits())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	l := s.lock(id)
	l.Lock()
	defer l.Unlock()
	if !replace {
		fresh = merged(s.read(id), fresh)
	}
	return s.write(id, fresh)
}

// merged returns old updated with fresh. The order of the names in old is kept.
func merged(old, fresh payload.Fields) payload.Fields {
	at := make(map[string]int, len(old))
	for i, f := range old {
		at[f.Key] = i
	}
	for _, f := range fresh {
		if i, ok := at[f.Key]; ok {
			old[i].Value = f.Value
			continue
		}
		old = append(old, f)
	}
	return old
}

// read returns the mine of a minion. It is empty if there is none or it cannot be decoded.
func (s *Store) read(id string) payload.Fields {
	raw, err := s.bank.Fetch(Bank(id), key)
	if err != nil {
		return nil
	}
	fields, err := payload.ParseFields(raw, limits())
	if err != nil {
		return nil
	}
	return fields
}

func limits() payload.Limits {
	l := payload.WireLimits()
	l.Size = 2 * MaxSize // other programs may have written larger data
	return l
}

func (s *Store) write(id string, fields payload.Fields) error {
	if len(fields) > MaxFunctions {
		return fmt.Errorf("%w: %d functions, limit %d", ErrTooBig, len(fields), MaxFunctions)
	}
	raw := fields.AppendBinTo(nil)
	if len(raw) > MaxSize {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooBig, len(raw), MaxSize)
	}
	return s.bank.Store(Bank(id), key, raw)
}

// Delete removes a function from the mine of a minion. It reports whether there is a mine, as Salt
// does.
func (s *Store) Delete(id, fun string) (bool, error) {
	l := s.lock(id)
	l.Lock()
	defer l.Unlock()
	raw, err := s.bank.Fetch(Bank(id), key)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	fields, err := payload.ParseFields(raw, limits())
	if err != nil {
		return false, nil
	}
	if !fields.Delete(fun) {
		return true, nil
	}
	return true, s.write(id, fields)
}

// Flush empties the mine of a minion.
func (s *Store) Flush(id string) error {
	l := s.lock(id)
	l.Lock()
	defer l.Unlock()
	return s.bank.Flush(Bank(id), key)
}
