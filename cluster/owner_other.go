//go:build !unix

package cluster

// ownedBy has no answer where files have no number of their owner.
func ownedBy(string, string) error { return nil }
