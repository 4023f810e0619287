package cluster

import "testing"

// TestAMemberWritesAgainWhenItsRecordIsGone deletes the record of a member, as NATS does when the member was
// stopped for a minute.
func TestAMemberWritesAgainWhenItsRecordIsGone(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	ctx := patiently(t)
	beats := c.bucket(forMembers)
	stream, err := c.js.Stream(ctx, beats.stream)
	must(t, err)
	v, err := beats.get(ctx, "a")
	must(t, err)
	must(t, stream.Purge(ctx))
	eventually(t, "a heartbeat after the loss of the record", func() bool {
		now, err := beats.get(ctx, "a")
		return err == nil && now.revision > v.revision
	})
	eventually(t, "a quorum", func() bool { return c.Quorum() == nil })
}
