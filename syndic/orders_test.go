package syndic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// takenJobs is a lower master that refuses an id, and its job cache.
type takenJobs struct {
	storedJobs
	begun    time.Time
	after    time.Duration // when the job is in the job cache
	refusals int           // before an order is accepted; a negative number means all
	asked    int
}

func (s *takenJobs) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	if time.Since(s.begun) < s.after {
		return nil, returners.ErrUnknownJob
	}
	return s.storedJobs.Job(ctx, id)
}

func (s *takenJobs) Publish(context.Context, client.Request) (*client.Job, error) {
	if s.asked++; s.refusals < 0 || s.asked <= s.refusals {
		return nil, &client.NoMinionsError{Text: "another job has this id"}
	}
	return &client.Job{Minions: []string{"web1"}}, nil
}

func (s *takenJobs) Close() error { return nil }

// TestOrderOfAnotherSyndic orders a job whose id the lower master has already.
func TestOrderOfAnotherSyndic(t *testing.T) {
	order := func(tgt any, kind, fun, user string, rights ...any) *job.Publication {
		return &job.Publication{JID: jid, Fun: []string{fun}, Arg: []any{"x"}, Target: tgt, TargetType: kind,
			User: user, AuthList: rights}
	}
	first := order("web*", "glob", "test.echo", "root")
	step := order([]any{"web1"}, "list", "test.echo", "root")
	for _, tt := range []struct {
		name     string
		stored   *job.Publication
		minions  []string
		pub      *job.Publication
		after    time.Duration
		refusals int
		want     string
	}{
		{"the same job", first, nil, first, 0, -1, "elsewhere"},
		{"the same job, which comes to the job cache later", first, nil, first, time.Second, -1, "elsewhere"},
		{"a job that does not come to the job cache", first, nil, first, time.Hour, -1, "refused"},
		{"another function", first, nil, order("web*", "glob", "test.ping", "root"), 0, -1, "refused"},
		{"another target", first, nil, order("*", "glob", "test.echo", "root"), 0, -1, "refused"},
		{"another user", first, nil, order("web*", "glob", "test.echo", "eve"), 0, -1, "refused"},
		{"other rights", first, nil, order("web*", "glob", "test.echo", "root", "test.*"), 0, -1, "refused"},
		{"a step that another syndic has ordered", step, []string{"web1", "web2"},
			order([]any{"far", "web2"}, "list", "test.echo", "root"), 0, -1, "elsewhere"},
		{"a step that nobody has ordered", step, []string{"web1"},
			order([]any{"web2"}, "list", "test.echo", "root"), 0, 1, "ordered"},
		{"a step that is refused", step, []string{"web1"},
			order([]any{"web2"}, "list", "test.echo", "root"), 0, -1, "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newBareSyndic(t, nil)
			s.inventory.Store(&inventory{Minions: []string{"web1", "web2"}})
			synctest.Test(t, func(t *testing.T) {
				below := &takenJobs{begun: time.Now(), after: tt.after, refusals: tt.refusals}
				below.job.Minions = tt.minions
				r := s.orders.request(tt.stored)
				var err error
				below.job.Load, err = payload.MarshalBin(data.NewMap("fun", r.Fun, "arg", r.Arg, "tgt", r.Target,
					"tgt_type", r.Kind, "kwargs", r.Kwargs))
				if err != nil {
					t.Fatal(err)
				}
				s.opts.Jobs = func() JobReader { return below }
				s.opts.Order = func(context.Context) (Orderer, error) { return below, nil }
				got := "ordered"
				j, elsewhere, err := s.orders.place(t.Context(), tt.pub)
				switch refused := (*client.NoMinionsError)(nil); {
				case errors.As(err, &refused):
					got = "refused"
				case err != nil:
					t.Error(err)
				case elsewhere:
					got = "elsewhere"
				case j == nil:
					t.Error("no job and no error")
				}
				if took := time.Since(below.begun); got != tt.want || took > takenTime {
					t.Errorf("%s after %s, want %s", got, took, tt.want)
				}
			})
		})
	}
}
