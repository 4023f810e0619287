package minion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// TestJobsAreAcknowledgedTogether takes jobs: those that have not ended after a moment are
// acknowledged in one message, to a master that has said that it wants to know.
func TestJobsAreAcknowledgedTogether(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		fault       error
		want        string
	}{
		{"a master of ours", "wants", nil, "[salt/job/2/ack/web1 salt/job/3/ack/web1] [salt/job/4/ack/web1]"},
		{"a master that fails", "wants", errors.New("gone"),
			"[salt/job/2/ack/web1 salt/job/3/ack/web1] [salt/job/4/ack/web1]"},
		{"a master of Salt's", "silent", nil, ""},
		{"a master that answers nonsense", "nonsense", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent string
				var kept []job.ID
				keep := func(jids []job.ID) error { kept = append(kept, jids...); return nil }
				a := newAcks("web1", quiet(), keep, func(_ context.Context, events []any) error {
					var tags []string
					for _, e := range events {
						if jid := job.ID(e.(*data.Map).Value("data").(*data.Map).Text("jid")); !slices.Contains(kept, jid) {
							t.Errorf("job %s is acknowledged before it is on disk", jid)
						}
						tags = append(tags, e.(*data.Map).Text("tag"))
					}
					if sent != "" {
						sent += " "
					}
					sent += fmt.Sprint(tags)
					return tt.fault
				})
				replies := map[string]*data.Map{"wants": data.NewMap(acksField, true),
					"silent": data.NewMap("file_roots", nil)}
				raw, err := payload.Marshal(replies[tt.reply])
				if err != nil {
					t.Fatal(err)
				}
				a.readReply(raw)
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- a.run(ctx) }()
				ends := map[job.ID]context.CancelFunc{}
				take := func(id job.ID) {
					var own context.Context
					own, ends[id] = context.WithCancel(t.Context())
					a.add(own, id)
				}
				for _, id := range []job.ID{"1", "2", "3"} {
					take(id)
				}
				time.Sleep(ackDelay / 2)
				ends["1"]()
				time.Sleep(ackDelay)
				take("4")
				time.Sleep(2 * ackDelay)
				synctest.Wait()
				if sent != tt.want {
					t.Errorf("sent %s, want %s", sent, tt.want)
				}
				stop()
				<-done
				for _, end := range ends {
					end()
				}
			})
		})
	}
}
