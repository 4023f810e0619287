package payload

import (
	"fmt"
	"math"
	"slices"

	"github.com/brineproject/brine/data"
)

// A Field is one key of a map and its value, still encoded.
type Field struct {
	Key   string
	Value data.Raw
}

// Fields is a map with raw values, in order. Values that are not read are copied unchanged.
type Fields []Field

// indexFrom is the number of fields from which ParseFields uses an index to find repeated keys.
const indexFrom = 24

// ParseFields splits a map whose keys are text. The values share the memory of b. Every value is
// checked to be complete and within l. As in Salt, a repeated key keeps its position and gets the
// later value. The error wraps ErrNotMap if a key has another type or is not UTF-8.
func ParseFields(b []byte, l Limits) (Fields, error) {
	l = l.filled()
	if err := l.checkSize(len(b)); err != nil {
		return nil, fmt.Errorf("split map: %w", err)
	}
	s := splitter{b: b, budget: l.budget(), names: uint64(l.Names)}
	fields, err := s.fields()
	if err == nil && s.pos != len(b) {
		err = ErrTrailing
	}
	if err != nil {
		return nil, fmt.Errorf("split map at byte %d: %w", s.pos, err)
	}
	return fields, nil
}

// ParseList splits a list. The values share the memory of b. Every value is checked to be complete
// and within l. The error wraps ErrNotList if b is something else.
func ParseList(b []byte, l Limits) ([]data.Raw, error) {
	l = l.filled()
	if err := l.checkSize(len(b)); err != nil {
		return nil, fmt.Errorf("split list: %w", err)
	}
	s := splitter{b: b, budget: l.budget()}
	list, err := s.list()
	if err == nil && s.pos != len(b) {
		err = ErrTrailing
	}
	if err != nil {
		return nil, fmt.Errorf("split list at byte %d: %w", s.pos, err)
	}
	return list, nil
}

type splitter struct {
	budget
	names uint64 // maximum number of keys; 0 means no limit
	b     []byte
	pos   int
	index map[string]int
}

func (s *splitter) fields() (Fields, error) {
	h, ok := readHead(s.b)
	if !ok {
		return nil, ErrTruncated
	}
	if h.kind != kindMap {
		return nil, ErrNotMap
	}
	s.pos = h.size
	if s.names > 0 && h.n > s.names {
		return nil, fmt.Errorf("%d named fields of at most %d: %w", h.n, s.names, ErrLimit)
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	if err := s.take(h.elements(), len(s.b)-s.pos); err != nil {
		return nil, err
	}
	fields := make(Fields, 0, h.n)
	for range h.n {
		f, err := s.field()
		if err != nil {
			return nil, err
		}
		fields = s.add(fields, f)
	}
	return fields, nil
}

func (s *splitter) list() ([]data.Raw, error) {
	h, ok := readHead(s.b)
	if !ok {
		return nil, ErrTruncated
	}
	if h.kind != kindArray {
		return nil, ErrNotList
	}
	s.pos = h.size
	if err := s.enter(); err != nil {
		return nil, err
	}
	if err := s.take(h.elements(), len(s.b)-s.pos); err != nil {
		return nil, err
	}
	list := make([]data.Raw, 0, h.n)
	for range h.n {
		end, err := skip(s.b, s.pos, &s.budget)
		if err != nil {
			return nil, err
		}
		list = append(list, data.Raw(s.b[s.pos:end:end]))
		s.pos = end
	}
	return list, nil
}

func (s *splitter) field() (f Field, err error) {
	if f.Key, err = s.key(); err != nil {
		return f, err
	}
	end, err := skip(s.b, s.pos, &s.budget)
	if err != nil {
		return f, err
	}
	f.Value = data.Raw(s.b[s.pos:end:end])
	s.pos = end
	return f, nil
}

func (s *splitter) key() (string, error) {
	h, ok := readHead(s.b[s.pos:])
	if !ok || h.body() > uint64(len(s.b)-s.pos-h.size) {
		return "", ErrTruncated
	}
	if h.kind != kindStr && h.kind != kindBin {
		return "", fmt.Errorf("a key that is not text: %w", ErrNotMap)
	}
	start := s.pos + h.size
	s.pos = start + int(h.n)
	return keyText(s.b[start:s.pos])
}

func (s *splitter) add(fields Fields, f Field) Fields {
	i := -1
	switch {
	case len(fields) < indexFrom:
		i = fields.find(f.Key)
	case s.index == nil:
		s.index = make(map[string]int, cap(fields))
		for j := range fields {
			s.index[fields[j].Key] = j
		}
		fallthrough
	default:
		if j, ok := s.index[f.Key]; ok {
			i = j
		}
	}
	if i >= 0 {
		fields[i].Value = f.Value
		return fields
	}
	if s.index != nil {
		s.index[f.Key] = len(fields)
	}
	return append(fields, f)
}

func (f Fields) find(key string) int {
	for i := range f {
		if f[i].Key == key {
			return i
		}
	}
	return -1
}

// Raw returns the encoded value of key, or nil if it is not present.
func (f Fields) Raw(key string) data.Raw {
	if i := f.find(key); i >= 0 {
		return f[i].Value
	}
	return nil
}

// Has reports whether key is present.
func (f Fields) Has(key string) bool { return f.find(key) >= 0 }

// Text returns the value of key if it is a UTF-8 string.
func (f Fields) Text(key string) (string, bool) { return Text(f.Raw(key)) }

// Bytes returns the value of key if it is a string of any kind. It shares the memory of the input.
func (f Fields) Bytes(key string) ([]byte, bool) { return Bytes(f.Raw(key)) }

// Int returns the value of key if it is a 64-bit integer.
func (f Fields) Int(key string) (int64, bool) {
	h, ok := readHead(f.Raw(key))
	return int64(h.n), ok && h.kind == kindInt
}

// Bool returns the value of key if it is true or false.
func (f Fields) Bool(key string) (value, ok bool) {
	h, ok := readHead(f.Raw(key))
	return h.kind == kindTrue, ok && (h.kind == kindTrue || h.kind == kindFalse)
}

// Value returns the value of key decoded by Unmarshal, or nil if it is not present or cannot be
// decoded.
func (f Fields) Value(key string) any {
	v, err := Unmarshal(f.Raw(key), Limits{Size: math.MaxInt})
	if err != nil {
		return nil
	}
	return v
}

// Set sets the value of key, encoded in wire form; a data.Raw is kept unchanged. A new key is
// appended.
func (f *Fields) Set(key string, v any) error {
	r, ok := v.(data.Raw)
	if !ok {
		b, err := Marshal(v)
		if err != nil {
			return fmt.Errorf("field %s: %w", key, err)
		}
		r = b
	}
	if i := f.find(key); i >= 0 {
		(*f)[i].Value = r
		return nil
	}
	*f = append(*f, Field{key, r})
	return nil
}

// SetBin is like Set but encodes in bin form.
func (f *Fields) SetBin(key string, v any) error {
	b, err := MarshalBin(v)
	if err != nil {
		return fmt.Errorf("field %s: %w", key, err)
	}
	return f.Set(key, data.Raw(b))
}

// Delete removes key and reports whether it was present.
func (f *Fields) Delete(key string) bool {
	i := f.find(key)
	if i < 0 {
		return false
	}
	*f = slices.Delete(*f, i, i+1)
	return true
}

// Clone returns a copy in which fields can be set and deleted without affecting f. The values are
// shared.
func (f Fields) Clone() Fields { return slices.Clone(f) }

// Marshal encodes the map: keys in wire form, values unchanged.
func (f Fields) Marshal() []byte { return f.AppendTo(make([]byte, 0, f.size())) }

// AppendTo appends the result of Marshal to dst.
func (f Fields) AppendTo(dst []byte) []byte { return f.appendTo(dst, false) }

// AppendBinTo appends the map with keys in bin form and unchanged values.
func (f Fields) AppendBinTo(dst []byte) []byte { return f.appendTo(dst, true) }

func (f Fields) appendTo(dst []byte, bin bool) []byte {
	dst = appendMapHead(dst, len(f))
	for i := range f {
		dst = append(appendText(dst, f[i].Key, bin), f[i].Value...)
	}
	return dst
}

func (f Fields) size() int {
	n := 5
	for i := range f {
		n += 5 + len(f[i].Key) + len(f[i].Value)
	}
	return n
}

// Text returns the contents of r if it is a single UTF-8 string.
func Text(r data.Raw) (string, bool) {
	b, ok := Bytes(r)
	if !ok {
		return "", false
	}
	s, err := keyText(b)
	return s, err == nil
}

// Bytes returns the contents of r if it is a single string of any kind. It shares the memory of r.
func Bytes(r data.Raw) ([]byte, bool) {
	h, ok := readHead(r)
	if !ok || h.kind != kindStr && h.kind != kindBin || h.n != uint64(len(r)-h.size) {
		return nil, false
	}
	return r[h.size:], true
}

// ListLen returns the announced length of the list in r. ok is false if r is not a list.
func ListLen(r data.Raw) (n int, ok bool) {
	h, ok := readHead(r)
	if !ok || h.kind != kindArray {
		return 0, false
	}
	return int(h.n), true
}
