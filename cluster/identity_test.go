package cluster

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/internal/test/need"
)

// TestServersTellTheSameStream lets members make the streams at once, and then servers restart, so that
// others lead: to a member the streams stay the same.
func TestServersTellTheSameStream(t *testing.T) {
	need.Time(t, "it waits for elections")
	s := three(t)
	members := make([]*Cluster, 6)
	var joining errgroup.Group
	for i := range members {
		joining.Go(func() (err error) {
			members[i], err = s.open(t, string(rune('a'+i)))
			return err
		})
	}
	must(t, joining.Wait())
	for _, c := range members {
		t.Cleanup(func() { c.Close() })
	}
	c := members[0]
	marks := func() map[string]string {
		all := map[string]string{}
		for _, what := range []string{forPublications, forReturns, forKeys, forLeases, forMembers, string(Batches)} {
			stream := c.name(what)
			if what != forPublications && what != forReturns {
				stream = c.bucket(what).stream
			}
			mark, err := c.identity(patiently(t), stream)
			must(t, err)
			all[stream] = mark
		}
		return all
	}
	first := marks()
	for _, n := range s.servers.Nodes {
		n.Restart(t)
		for stream, mark := range marks() {
			if mark != first[stream] {
				t.Errorf("after the restart of %s stream %s is %s instead of %s", n.Name, stream, mark, first[stream])
			}
		}
	}
}
