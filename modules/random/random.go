// Package random is Salt's module random: random and pseudo-random values
// (salt/modules/mod_random.py).
//
// With a seed the numbers are those of Python's generator, see package pyrandom. Without one they
// come from the system.
//
// Differences from Salt: a seed affects only its own call, not later ones. shadow_hash does not
// support DES, which Salt calls crypt, and accepts at most a million rounds.
package random

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"math/big"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyrandom"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module random.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "random", File: "mod_random",
		New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_str", m.getStr).SecretResult(loader.SecretAll),
		loader.F("hash", m.hash),
		loader.F("rand_int", m.randInt),
		loader.F("sample", m.sample),
		loader.F("seed", m.seed),
		loader.F("shadow_hash", m.shadowHash).Secret("password").SecretResult(loader.SecretAll),
		loader.F("shuffle", m.shuffle),
		loader.F("str_encode", m.strEncode),
	}}, nil
}

// system returns a random number below n from the system's source.
func system(n uint64) uint64 {
	limit := -n % n // 2**64 modulo n: numbers below it would be more frequent
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		if v := binary.LittleEndian.Uint64(b[:]); v >= limit {
			return v % n
		}
	}
}

// seeded returns the number source for a seed, with the seed types of Python's random.seed.
func seeded(seed any) (func(uint64) uint64, error) {
	switch s := seed.(type) {
	case string:
		return pyrandom.FromText(s).Below, nil
	case []byte:
		return pyrandom.FromText(string(s)).Below, nil
	case float64:
		return pyrandom.FromFloat(s).Below, nil
	case *big.Int:
		return pyrandom.FromInt(s).Below, nil
	case int64:
		return pyrandom.FromInt(big.NewInt(s)).Below, nil
	case bool:
		n := big.NewInt(0)
		if s {
			n.SetInt64(1)
		}
		return pyrandom.FromInt(n).Below, nil
	}
	return nil, loader.TypeError("The only supported seed types are: None,\nint, float, str, bytes, and bytearray.")
}

type randIntArgs struct {
	Start int64 `default:"1"`
	End   int64 `default:"10"`
	Seed  any   `default:"None"`
}

// randInt returns a random integer from start to end, both included.
//
// seed : None
//
//	A text or number. The same seed always gives the same result.
//
// CLI Example:
//
//	salt '*' random.rand_int 1 10
func (m *module) randInt(_ context.Context, a randIntArgs) (any, error) {
	below := system
	if a.Seed != nil {
		var err error
		if below, err = seeded(a.Seed); err != nil {
			return nil, err
		}
	}
	if a.End < a.Start {
		stop := new(big.Int).Add(big.NewInt(a.End), big.NewInt(1))
		width := new(big.Int).Sub(stop, big.NewInt(a.Start))
		return nil, loader.Exception("ValueError", "empty range for randrange() (%d, %d, %d)",
			a.Start, stop, width)
	}
	width := uint64(a.End) - uint64(a.Start) + 1
	if width == 0 {
		return nil, loader.Exception("ValueError", "a range of 2**64 numbers is too large")
	}
	return int64(uint64(a.Start) + below(width)), nil
}

type seedArgs struct {
	Range int64 `default:"10"`
	Hash  any   `default:"None"`
}

// seed returns an integer from 0 to range-1 that is always the same for a minion. Use it to spread
// jobs so that they do not run everywhere at once.
//
// hash : None
//
//	A text or number to use instead of the minion ID.
//
// CLI Example:
//
//	salt '*' random.seed 10 hash=None
func (m *module) seed(_ context.Context, a seedArgs) (any, error) {
	hash := a.Hash
	if hash == nil {
		hash = m.env.GrainsNow().Value("id")
	}
	below, err := seeded(hash)
	if err != nil {
		return nil, err
	}
	if a.Range <= 0 {
		return nil, loader.Exception("ValueError", "empty range for randrange()")
	}
	return int64(below(uint64(a.Range))), nil
}

type sampleArgs struct {
	Value any
	Size  int
	Seed  any `default:"None"`
}

// sample returns random elements of a list, in any order.
//
// seed : None
//
//	A text. The same seed always gives the same elements.
//
// CLI Example:
//
//	salt '*' random.sample '["one", "two"]' 1 seed="something"
func (m *module) sample(_ context.Context, a sampleArgs) (any, error) {
	below, err := chance(a.Seed)
	if err != nil {
		return nil, err
	}
	var list []any
	switch v := a.Value.(type) {
	case []any:
		list = v
	case data.Tuple:
		list = v
	case string:
		for _, r := range v {
			list = append(list, string(r))
		}
	default:
		return nil, loader.TypeError("Population must be a sequence.  For dicts or sets, use sorted(d).")
	}
	if a.Size < 0 || a.Size > len(list) {
		return nil, loader.Exception("ValueError", "Sample larger than population or is negative")
	}
	out := make([]any, 0, a.Size)
	for _, i := range pyrandom.Sample(len(list), a.Size, below) {
		out = append(out, list[i])
	}
	return out, nil
}

// chance returns a number source: one seeded with the hash of a text, or the system's for None.
func chance(seed any) (func(uint64) uint64, error) {
	if seed == nil {
		return system, nil
	}
	text, err := hashed(seed, "sha512")
	if err != nil {
		return nil, err
	}
	return seeded(text)
}

type shuffleArgs struct {
	Value any
	Seed  any `default:"None"`
}

// shuffle returns the elements of a list in random order.
//
// seed : None
//
//	A text. The same seed always gives the same order.
//
// CLI Example:
//
//	salt '*' random.shuffle '["one", "two"]' seed="something"
func (m *module) shuffle(ctx context.Context, a shuffleArgs) (any, error) {
	n, err := length(a.Value)
	if err != nil {
		return nil, err
	}
	return m.sample(ctx, sampleArgs{a.Value, n, a.Seed})
}

func length(v any) (int, error) {
	switch v := v.(type) {
	case []any:
		return len(v), nil
	case data.Tuple:
		return len(v), nil
	case *data.Map:
		return v.Len(), nil
	case string:
		return len([]rune(v)), nil
	}
	return 0, loader.TypeError("object of type '%s' has no len()", loader.TypeName(v))
}
