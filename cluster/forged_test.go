package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/pki"
)

// Whoever may write to NATS cannot fill the logs of the members with messages that name the true cluster key:
// they are counted, and a few lines tell of them.
func TestForgeriesDoNotFillTheLog(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	log, hook := logtest.NewNullLogger()
	c.o.Log = log
	ctx := patiently(t)
	values, keys := c.Values(Data), c.bucket(forKeys)
	forged := junk(0)
	copy(forged[1:], c.secret.ids[0])
	const each = 100
	for i := range each {
		for _, subject := range []string{c.subject(forPublications), c.subject(forReturns),
			values.b.subject(encode(fmt.Sprint("bad", i))), keys.subject(encode(fmt.Sprint("bad", i)))} {
			_, err := c.js.Publish(ctx, subject, forged)
			must(t, err)
		}
	}
	_, err := values.Put(ctx, "good", []byte("value"))
	must(t, err)
	jobs, returns := make(chan Publication, each), make(chan ReturnEntry, each)
	following(t, func(ctx context.Context) error {
		return c.Publications().Subscribe(ctx, 0, func(p Publication) error { jobs <- p; return nil })
	})
	following(t, func(ctx context.Context) error {
		return c.Returns().Subscribe(ctx, 0, func(r ReturnEntry) error { returns <- r; return nil })
	})
	if got := receive(t, jobs, each); !errors.Is(got[each-1].Problem, ErrSealed) {
		t.Errorf("publications: %+v", got[each-1])
	}
	if got := receive(t, returns, each); !errors.Is(got[each-1].Problem, ErrSealed) {
		t.Errorf("returns: %+v", got[each-1])
	}
	if got := receive(t, told(t, values, 0), 1); got[0].Key != "good" {
		t.Errorf("values: %+v", got)
	}
	k := openKeys(t, c)
	if _, err := k.Record("bad7"); !errors.Is(err, ErrSealed) {
		t.Errorf("the record of a forged key: %v", err)
	}
	if n := c.Forged(); n != 4*each {
		t.Errorf("Forged = %d, want %d", n, 4*each)
	}
	var lines []string
	for _, e := range hook.AllEntries() {
		if e.Level <= logrus.WarnLevel {
			lines = append(lines, e.Message)
		}
	}
	const most = 4 * 7 // of each stream the entries 1, 2, 4 … 64
	if len(lines) != most || !strings.Contains(lines[0], "a stranger writes to NATS") {
		t.Errorf("%d lines in the log, want %d; the first is %q", len(lines), most, clip(lines))
	}
}

// A stranger can write records of any number of invented ids. Those that are not remembered are looked
// up: none of them counts as an id without a key.
func TestBrokenRecordsAreBounded(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	k := openKeys(t, c)
	for i := range maxBroken {
		subject := k.b.subject(encode(fmt.Sprint("invented", i)))
		must(t, k.take(message{uint64(i + 1), time.Now(), subject, []byte("x")}))
	}
	must(t, k.take(message{1, time.Now(), k.b.subject(encode("not/an/id")), []byte("x")}))
	_, err := c.js.Publish(patiently(t), k.b.subject(encode("web1")), []byte("x"))
	must(t, err)
	eventually(t, "the last record", func() bool { return c.Forged() == maxBroken+2 })
	if n := len(k.broken); n != maxBroken {
		t.Errorf("%d broken records are remembered, want %d", n, maxBroken)
	}
	for id, want := range map[string]error{"invented0": ErrSealed, "web1": ErrSealed, "web2": nil} {
		if r, err := k.Record(id); !errors.Is(err, want) || r.Revision != 0 {
			t.Errorf("Record(%s) = %+v, %v, want %v", id, r, err, want)
		}
	}
	if state, _, err := k.Find("web1"); err == nil {
		t.Errorf("a key that cannot be read is %s", state)
	}
	if state, _, err := k.Find("web2"); state != pki.Unknown || err != nil {
		t.Errorf("Find of an id without a record = %s, %v", state, err)
	}
}
