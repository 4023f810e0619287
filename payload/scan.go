package payload

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// A TokenKind is the kind of a Token.
type TokenKind uint8

// The kinds of tokens.
const (
	NilToken TokenKind = iota
	BoolToken
	IntToken
	FloatToken
	TextToken  // a str, whose contents need not be UTF-8
	ListToken  // its elements follow
	MapToken   // its keys and values follow
	OtherToken // bytes, an extension, or a number above the largest int64
)

// A Token is a value of a message, or the beginning of a list or map.
type Token struct {
	Kind  TokenKind
	Int   int64   // of IntToken; 1 for the BoolToken true
	Float float64 // of FloatToken
	Text  []byte  // of TextToken; it shares the memory of the message
	Len   int     // elements of a ListToken, pairs of a MapToken
}

// A Scanner reads a message value by value, without building the lists and maps in it.
type Scanner struct{ d decoder }

// NewScanner returns a Scanner for one value. The error wraps ErrLimit if b is too long.
func NewScanner(b []byte, l Limits) (*Scanner, error) {
	l = l.filled()
	if err := l.checkSize(len(b)); err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	return &Scanner{decoder{b: b, budget: l.budget()}}, nil
}

// Next returns the next token. After the last element of a list or map the caller calls Leave.
func (s *Scanner) Next() (t Token, err error) {
	d := &s.d
	start := d.pos
	h, err := d.head()
	if err != nil {
		return t, fmt.Errorf("scan byte %d: %w", start, err)
	}
	switch h.kind {
	case kindNil:
		t.Kind = NilToken
	case kindFalse:
		t.Kind = BoolToken
	case kindTrue:
		t.Kind, t.Int = BoolToken, 1
	case kindInt:
		t.Kind, t.Int = IntToken, int64(h.n)
	case kindFloat:
		t.Kind, t.Float = FloatToken, math.Float64frombits(h.n)
	case kindStr:
		t.Kind, t.Text = TextToken, d.take(h.n)
	case kindArray, kindMap:
		t.Kind, t.Len = ListToken, int(h.n)
		if h.kind == kindMap {
			t.Kind = MapToken
		}
		if err := d.enterAll(&h); err != nil {
			return t, fmt.Errorf("scan byte %d: %w", start, err)
		}
	default:
		t.Kind = OtherToken
		d.take(h.body())
	}
	return t, nil
}

// Leave ends a list or map whose elements have been read.
func (s *Scanner) Leave() { s.d.depth++ }

// End returns an error that wraps ErrTrailing unless the message ends here.
func (s *Scanner) End() error {
	if s.d.pos != len(s.d.b) {
		return fmt.Errorf("scan byte %d: %w", s.d.pos, ErrTrailing)
	}
	return nil
}

// IsText reports whether b is one value whose texts are all UTF-8, so that UnmarshalText decodes them as
// text.
func IsText(b []byte, l Limits) bool {
	s, err := NewScanner(b, l)
	return err == nil && s.isText() && s.End() == nil
}

func (s *Scanner) isText() bool {
	t, err := s.Next()
	if err != nil || t.Kind == TextToken && !utf8.Valid(t.Text) {
		return false
	}
	if t.Kind != ListToken && t.Kind != MapToken {
		return true
	}
	n := t.Len
	if t.Kind == MapToken {
		n *= 2
	}
	for range n {
		if !s.isText() {
			return false
		}
	}
	s.Leave()
	return true
}
