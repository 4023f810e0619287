package media

import (
	"errors"
	"hash/maphash"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/payload"
)

// errNotPlain means that an encoded value must be decoded to be written as JSON.
var errNotPlain = errors.New("the value has what JSON does not have, or a key twice")

// appendRaw appends an encoded value as JSON, without decoding it first. The error is errNotPlain, or says
// that the value is damaged.
func appendRaw(dst []byte, raw data.Raw) ([]byte, error) {
	s, err := payload.NewScanner(raw, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	t := transcript{Scanner: s, b: dst, seed: maphash.MakeSeed()}
	t.keys = t.room[:0]
	if err := t.value(); err != nil {
		return nil, err
	}
	return t.b, s.End()
}

// A transcript is the JSON of an encoded value.
type transcript struct {
	*payload.Scanner
	b    []byte
	seed maphash.Seed
	keys []uint64 // hashes of the keys of the maps that are open
	room [256]uint64
}

func (t *transcript) value() error {
	token, err := t.Next()
	if err != nil {
		return err
	}
	switch token.Kind {
	case payload.NilToken:
		t.b = append(t.b, "null"...)
	case payload.BoolToken:
		t.b = strconv.AppendBool(t.b, token.Int == 1)
	case payload.IntToken:
		t.b = strconv.AppendInt(t.b, token.Int, 10)
	case payload.FloatToken:
		t.b = pyjson.AppendFloat(t.b, token.Float)
	case payload.TextToken:
		return t.text(token.Text)
	case payload.ListToken:
		return t.list(token.Len)
	case payload.MapToken:
		return t.dict(token.Len)
	default:
		return errNotPlain
	}
	return nil
}

func (t *transcript) text(text []byte) error {
	if !utf8.Valid(text) {
		return errNotPlain
	}
	t.b = pyjson.AppendText(t.b, text)
	return nil
}

func (t *transcript) list(n int) error {
	t.b = append(t.b, '[')
	for i := range n {
		t.separate(i)
		if err := t.value(); err != nil {
			return err
		}
	}
	t.b = append(t.b, ']')
	t.Leave()
	return nil
}

func (t *transcript) dict(n int) error {
	names := keys{t: t, from: len(t.keys)}
	t.b = append(t.b, '{')
	for i := range n {
		t.separate(i)
		key, err := t.Next()
		if err != nil {
			return err
		}
		if key.Kind != payload.TextToken || !names.add(key.Text) {
			return errNotPlain
		}
		if err := t.text(key.Text); err != nil {
			return err
		}
		t.b = append(t.b, ": "...)
		if err := t.value(); err != nil {
			return err
		}
	}
	t.b = append(t.b, '}')
	t.keys = t.keys[:names.from]
	t.Leave()
	return nil
}

func (t *transcript) separate(i int) {
	if i > 0 {
		t.b = append(t.b, ", "...)
	}
}

// keys are the keys of one map so far. They know hashes alone: a value whose keys have the same hash by
// chance is decoded in vain.
type keys struct {
	t     *transcript
	from  int
	index map[uint64]struct{} // nil while there are few
}

// fewKeys is how many keys are compared one by one.
const fewKeys = 256

// add notes a key. It reports false if the map may have it already.
func (k *keys) add(key []byte) bool {
	sum := maphash.Bytes(k.t.seed, key)
	if k.index != nil {
		before := len(k.index)
		k.index[sum] = struct{}{}
		return len(k.index) > before
	}
	if slices.Contains(k.t.keys[k.from:], sum) {
		return false
	}
	k.t.keys = append(k.t.keys, sum)
	if known := k.t.keys[k.from:]; len(known) > fewKeys {
		k.index = make(map[uint64]struct{}, 2*fewKeys)
		for _, other := range known {
			k.index[other] = struct{}{}
		}
	}
	return true
}
