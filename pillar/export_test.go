package pillar

import (
	"context"
	"time"
)

// Trust sets whether a compiler trusts the modification times of files.
func (c *Compiler) Trust(yes bool) {
	c.treeCache.now = time.Now
	if yes {
		c.treeCache.now = func() time.Time { return time.Now().Add(time.Minute) }
	}
}

// Clock sets the clock.
func (s *Saved) Clock(now func() time.Time) { s.now = now }

// PrintedWithin is what the sources that run a program do with another limit of its time.
func PrintedWithin(limit time.Duration, q Query, argv []string) (v any, ok bool) {
	return printedWithin(context.Background(), limit, q, "x", argv)
}
