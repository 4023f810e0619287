package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/pki"
)

// junk is an entry under the id of a key that nobody has.
func junk(n uint32) []byte {
	out := make([]byte, sealOverhead+10)
	out[0] = sealVersion
	binary.BigEndian.PutUint32(out[1:], n)
	return out
}

// Whoever may write to NATS cannot stop a member with a message that names an unknown cluster key: it is
// logged once, counted and left out.
func TestEntriesOfAnUnknownKeyStopNobody(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	log, hook := logtest.NewNullLogger()
	c.o.Log = log
	ctx := patiently(t)
	put := func(subject string) {
		_, err := c.js.Publish(ctx, subject, junk(7))
		must(t, err)
	}
	values, keys := c.Values(Data), c.bucket(forKeys)
	put(c.subject(forPublications))
	put(c.subject(forReturns))
	put(values.b.subject(encode("bad")))
	put(keys.subject(encode("web1")))
	if mark, err := values.Identify(ctx, ".stream"); mark == "" || err != nil {
		t.Errorf("Identify = %q, %v", mark, err)
	}
	put(values.b.subject(encode(".stream")))
	if mark, err := values.Identify(ctx, ".stream"); mark == "" || err != nil {
		t.Errorf("Identify after a forgery = %q, %v", mark, err)
	}

	_, _, err := c.Publications().Publish(ctx, "", []byte("job"))
	must(t, err)
	_, err = c.Returns().Add(ctx, []byte("1"))
	must(t, err)
	_, err = values.Put(ctx, "good", []byte("value"))
	must(t, err)
	jobs, returns := make(chan Publication, 2), make(chan ReturnEntry, 2)
	following(t, func(ctx context.Context) error {
		return c.Publications().Subscribe(ctx, 0, func(p Publication) error { jobs <- p; return nil })
	})
	following(t, func(ctx context.Context) error {
		return c.Returns().Subscribe(ctx, 0, func(r ReturnEntry) error { returns <- r; return nil })
	})
	if got := receive(t, jobs, 2); !errors.Is(got[0].Problem, ErrUnknownKey) || string(got[1].Body) != "job" {
		t.Errorf("publications: %+v", got)
	}
	if got := receive(t, returns, 2); !errors.Is(got[0].Problem, ErrUnknownKey) || string(got[1].Returns[0]) != "1" {
		t.Errorf("returns: %+v", got)
	}
	if got := receive(t, told(t, values, 0), 2); string(got[1].Body) != "value" || !values.Unread() || c.Values(Batches).Unread() {
		t.Errorf("values: %+v, unread %t", got, values.Unread())
	}
	k, err := c.OpenKeys(ctx, KeyOptions{})
	must(t, err)
	defer k.Close()
	if _, err := k.List(pki.Accepted); err != nil {
		t.Errorf("keys: %v", err)
	}
	if _, err := k.Record("web1"); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("the key that was overwritten: %v", err)
	}

	all := c.UnknownKeys()
	if len(all) != 1 || all[0].ID != "00000007" || all[0].Entries != 4 || !strings.Contains(all[0].String(), "4 entries are left out") {
		t.Errorf("UnknownKeys = %+v", all)
	}
	lines := 0
	for _, e := range hook.AllEntries() {
		if e.Level == logrus.ErrorLevel && strings.Contains(e.Message, "a stranger writes to NATS") {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("%d lines in the log, want 1", lines)
	}
	_, err = c.Reseal(ctx)
	for _, name := range []string{`"bad" of bucket`, `"web1" of bucket`} {
		if !errors.Is(err, ErrUnknownKey) || !strings.Contains(err.Error(), name) {
			t.Errorf("Reseal = %v, want an error that names %s", err, name)
		}
	}
}

// A stranger can name more keys than are told apart.
func TestUnknownKeysAreBounded(t *testing.T) {
	var u unknownKeys
	logged := 0
	for i := range 1000 {
		if u.count(fmt.Sprint(i), "s", uint64(i+1)) {
			logged++
		}
	}
	if len(u.all) != maxUnknown+1 || logged != maxUnknown+1 || u.all[otherKeys].Entries != 1000-maxUnknown {
		t.Errorf("%d keys, %d logged, %+v", len(u.all), logged, u.all[otherKeys])
	}
}

// Nor does such an entry in the place of a lease, a fence or a heartbeat keep a member from its work.
func TestALeaseOutlivesAnUnknownKey(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	ctx := patiently(t)
	beats := c.bucket(forMembers)
	for _, b := range []*bucket{c.bucket(forLeases), c.bucket(forFences)} {
		_, err := c.js.Publish(ctx, b.subject(encode("lead")), junk(7))
		must(t, err)
	}
	led := false
	err := c.Leases().Run(ctx, "lead", func(ctx context.Context, token Token) error {
		f, err := c.Leases().Fence(ctx, token)
		if err != nil {
			return err
		}
		led = true
		if err := f.Save(ctx, []byte("step")); err != nil {
			return err
		}
		if _, err := c.js.Publish(ctx, f.b.subject(encode("lead")), junk(7)); err != nil {
			return err
		}
		return f.Save(ctx, []byte("next step"))
	})
	if err != nil || !led {
		t.Errorf("the lease: led %t, %v", led, err)
	}
	ack, err := c.js.Publish(ctx, beats.subject(encode("a")), junk(7))
	must(t, err)
	eventually(t, "a heartbeat over the strange one", func() bool {
		v, err := beats.get(ctx, "a")
		return err == nil && v.revision > ack.Sequence
	})
	if err := c.Quorum(); err != nil {
		t.Errorf("Quorum = %v", err)
	}
}
