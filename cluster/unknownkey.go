package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// An UnknownKey is a cluster key that this member lacks, and what it could not read for that.
//
// The id of the key stands before a sealed value, where nobody can prove it: such an entry is of a member
// with a newer key file, or of anybody who may write to NATS. To stop for it would let a stranger stop all
// members with one message. So a member logs the first entry of each id, counts all, and goes on.
//
// What may be lost if the entry is of a member is little. A member does not join a cluster whose other
// members, or whose own keys, are sealed with a key that it lacks, and Reseal fails for values under such a
// key. Who changes the key in the order that LoadSecret describes has both keys on all members before
// anything is sealed with the new one. After another order, streams that have such an entry are read again
// from there on, at the first start with another key file: callers keep their positions for that.
type UnknownKey struct {
	ID       string // as in the log; "others" for those after the first few
	Stream   string // of the first entry
	Sequence uint64 // of the first entry
	Entries  uint64 // that were left out since the start of this member
}

// maxUnknown is how many ids are told apart: a stranger can write any number of them.
const maxUnknown = 8

// otherKeys is the id of what exceeds maxUnknown.
const otherKeys = "others"

// An unknownKeyError is an ErrUnknownKey.
type unknownKeyError struct{ id string }

func (e *unknownKeyError) Error() string { return ErrUnknownKey.Error() + ": " + e.id }

func (e *unknownKeyError) Is(target error) bool { return target == ErrUnknownKey }

// isForeign reports whether what was read is not of this cluster, or not of one whose key this member has.
func isForeign(err error) bool { return errors.Is(err, ErrSealed) || errors.Is(err, ErrUnknownKey) }

// unknownKeys collects what a member cannot read. It is safe for concurrent use.
type unknownKeys struct {
	mu  sync.Mutex
	all map[string]UnknownKey
}

// leaveOut reports whether an error says that an entry is sealed with an unknown key, which it then counts,
// and logs if it is the first of that key.
func (c *Cluster) leaveOut(stream string, sequence uint64, err error) bool {
	var unknown *unknownKeyError
	if !errors.As(err, &unknown) {
		return false
	}
	if c.unknown.count(unknown.id, stream, sequence) {
		c.o.Log.WithError(err).Errorf("entry %d of stream %s, and further ones of that key, are left out: "+
			"a member has a key that is not in %s, or a stranger writes to NATS", sequence, stream, c.o.KeyFile)
	}
	return true
}

// count reports whether the entry is the first of its key.
func (u *unknownKeys) count(id, stream string, sequence uint64) (first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]UnknownKey{}
	}
	if _, known := u.all[id]; !known && len(u.all) >= maxUnknown {
		id = otherKeys
	}
	k, known := u.all[id]
	if !known {
		k = UnknownKey{ID: id, Stream: stream, Sequence: sequence}
	}
	k.Entries++
	u.all[id] = k
	return !known
}

// UnknownKeys returns the keys that this member lacks, of entries that it has left out since its start,
// sorted by id.
func (c *Cluster) UnknownKeys() []UnknownKey {
	c.unknown.mu.Lock()
	defer c.unknown.mu.Unlock()
	var all []UnknownKey
	for _, k := range c.unknown.all {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b UnknownKey) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// String returns the key and what could not be read.
func (k UnknownKey) String() string {
	return fmt.Sprintf("cluster key %s is unknown here: %d entries are left out, the first is %d of stream %s", k.ID,
		k.Entries, k.Sequence, k.Stream)
}

// KeyIDs returns the ids of the cluster keys of this member, in a form that is the same for the same keys.
func (c *Cluster) KeyIDs() string {
	var all []string
	for _, id := range c.secret.ids {
		all = append(all, fmt.Sprintf("%x", id))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
