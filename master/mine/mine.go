// Package mine keeps what minions publish for one another (Salt's mine).
//
// A minion sends the results of chosen functions now and then; whoever may asks for the last result of each minion that a
// target names. On a master a [Store] keeps them in its cache, as Salt does: key mine of the bank minions/ID is a dictionary of
// function names and values, so that Salt's own tools on the host find what they look for (salt/daemons/masterapi.py,
// RemoteFuncs._mine and its neighbours). Values are not decoded on their way, and outlast a restart.
//
// A value may say who may read it: it is wrapped then, see [Wrap]. On a minion [ParseDefinition] reads an entry of the option
// mine_functions (salt/utils/mine.py).
//
// # Stricter than Salt
//
// On purpose, these differ from Salt:
//
//   - A target that asks for pillar names a minion by whole values, also where it is a regular expression of the kind
//     pillar_pcre: nobody finds out the pillar of others by trying.
//   - allow_tgt lets nobody in of whom the master does not know what the target asks for. Salt lets in a minion without
//     cached grains. An allow_tgt that cannot be read lets nobody in.
//   - What one minion keeps in its mine is bounded, see [MaxSize] and [MaxFunctions].
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

// Bounds of the mine of one minion. An update that exceeds them is refused as a whole.
const (
	MaxSize      = 32 << 20 // bytes, as they lie in the cache
	MaxFunctions = 4096
)

// Errors of a [Store] that callers decide on.
var (
	// ErrTooBig is wrapped by Update when the mine of a minion would exceed its bounds.
	ErrTooBig = errors.New("the mine of a minion is bounded")
	// ErrTooMuch is wrapped by Get, beside the first 64 MiB of results, where there are more.
	ErrTooMuch = errors.New("too many bytes are asked for")
	// ErrMalformed is wrapped for values that are no dictionary of function names.
	ErrMalformed = errors.New("mine data is no dictionary of function names")
)

const key = "mine"

// Bank returns the bank of the cache in which the mine of a minion lies.
func Bank(id string) string { return "minions/" + id }

// A Store keeps the mines of all minions in a cache. Several goroutines may use it, but no other Store of another process may
// change the mine of the same minion at once.
type Store struct {
	bank  cache.Bank
	most  int // bytes that one query gets
	seed  maphash.Seed
	locks [64]sync.Mutex // by minion: to change a mine is to read and to write it
}

// NewStore returns a store on top of a cache.
func NewStore(bank cache.Bank) *Store {
	return &Store{bank: bank, most: maxFound, seed: maphash.MakeSeed()}
}

func (s *Store) lock(id string) *sync.Mutex {
	return &s.locks[maphash.String(s.seed, id)%uint64(len(s.locks))]
}

// Update puts values, a dictionary as it came over the wire, into the mine of a minion. With replace they are all that is in it
// afterwards.
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

// merged returns old with the fields of fresh; names keep their places.
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

// read returns the mine of a minion. One that is not there, or cannot be read, is empty.
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
	l.Size = 2 * MaxSize // what other programs have written may be larger
	return l
}

func (s *Store) write(id string, fields payload.Fields) error {
	if len(fields) > MaxFunctions {
		return fmt.Errorf("%w: %d functions of %d", ErrTooBig, len(fields), MaxFunctions)
	}
	raw := fields.AppendBinTo(nil)
	if len(raw) > MaxSize {
		return fmt.Errorf("%w: %d bytes of %d", ErrTooBig, len(raw), MaxSize)
	}
	return s.bank.Store(Bank(id), key, raw)
}

// Delete takes a function out of the mine of a minion. It reports whether there is a mine, as Salt does.
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
