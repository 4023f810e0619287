package payload

import (
	"errors"
	"fmt"
)

// Errors that readers wrap.
var (
	// the input is larger, deeper or has more values than allowed
	ErrLimit     = errors.New("limit exceeded")
	ErrTruncated = errors.New("input ends too early") // or announces more than it holds
	ErrTrailing  = errors.New("input goes on after the value")
	// a reserved byte, a key that cannot be one, a broken extension
	ErrInvalid = errors.New("invalid MessagePack")
	ErrNotMap  = errors.New("not a map of named fields")
	ErrNotList = errors.New("not a list")
)

// Limits are enforced by readers. A field that is 0 has the value of WireLimits.
type Limits struct {
	Size  int // total input size in bytes
	Depth int // nesting depth of lists and maps
	Nodes int // total number of values: elements, and keys and values of maps
	Names int // keys of the map that ParseFields splits; 0 means no separate limit
}

// WireLimits returns limits for authenticated peers and for files: 100 MiB, 128 levels, a million
// values.
func WireLimits() Limits { return Limits{Size: 100 << 20, Depth: 128, Nodes: 1_000_000} }

// PreAuthLimits returns limits for unauthenticated peers: 1 MiB, 128 levels, ten thousand values,
// 256 named fields.
func PreAuthLimits() Limits { return Limits{Size: 1 << 20, Depth: 128, Nodes: 10_000, Names: 256} }

// SplitLimits returns limits for maps that ParseFields splits for unauthenticated peers, if the
// values are decoded only after authentication: WireLimits with the 256 named fields of
// PreAuthLimits.
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

// A budget is the remainder of Limits while an input is read.
type budget struct{ depth, nodes int }

func (l Limits) budget() budget { return budget{depth: l.Depth, nodes: l.Nodes - 1} }

// take reserves n elements of a list or map, with rest bytes left, before anything is allocated for
// them.
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
