package payload

import (
	"errors"
	"fmt"
)

// Errors that readers wrap.
var (
	ErrLimit     = errors.New("limit exceeded")       // the input is larger, deeper or has more values than allowed
	ErrTruncated = errors.New("input ends too early") // or announces more than it holds
	ErrTrailing  = errors.New("input goes on after the value")
	ErrInvalid   = errors.New("invalid MessagePack") // a reserved byte, a key that cannot be one, a broken extension
	ErrNotMap    = errors.New("not a map of named fields")
)

// Limits bound what a reader accepts. A field that is 0 has the value that WireLimits gives it.
type Limits struct {
	Size  int // bytes of the whole input
	Depth int // lists and maps within each other
	Nodes int // values in all: elements, keys and values of maps
	Names int // keys of the map that ParseFields splits; 0 means as many as Nodes allows
}

// WireLimits are for peers that have signed in and for files: 100 MiB, 128 levels, a million values.
func WireLimits() Limits { return Limits{Size: 100 << 20, Depth: 128, Nodes: 1_000_000} }

// PreAuthLimits are for anybody: 1 MiB, 128 levels, ten thousand values, 256 named fields.
func PreAuthLimits() Limits { return Limits{Size: 1 << 20, Depth: 128, Nodes: 10_000, Names: 256} }

// SplitLimits are for maps that ParseFields splits for anybody, and whose values are not decoded before the sender is known: those
// of WireLimits, with the 256 named fields of PreAuthLimits.
func SplitLimits() Limits {
	l := WireLimits()
	l.Names = PreAuthLimits().Names
	return l
}

func (l Limits) filled() Limits {
	d := WireLimits()
	if l.Size == 0 {
		l.Size = d.Size
	}
	if l.Depth == 0 {
		l.Depth = d.Depth
	}
	if l.Nodes == 0 {
		l.Nodes = d.Nodes
	}
	return l
}

func (l Limits) checkSize(n int) error {
	if n > l.Size {
		return fmt.Errorf("%d bytes of at most %d: %w", n, l.Size, ErrLimit)
	}
	return nil
}

// A budget is what is left of Limits while one input is read.
type budget struct{ depth, nodes int }

func (l Limits) budget() budget { return budget{depth: l.Depth, nodes: l.Nodes - 1} }

// take books n elements of a list or map of which rest bytes are left, before anything is made for them.
func (g *budget) take(n uint64, rest int) error {
	if n > uint64(max(rest, 0)) {
		return ErrTruncated
	}
	if n > uint64(max(g.nodes, 0)) {
		return fmt.Errorf("too many values: %w", ErrLimit)
	}
	g.nodes -= int(n)
	return nil
}

func (g *budget) enter() error {
	if g.depth--; g.depth < 0 {
		return fmt.Errorf("nested too deep: %w", ErrLimit)
	}
	return nil
}
