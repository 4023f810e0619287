package master

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/pki"
)

// userField are the cases in which Salt gives the field user of the credentials to the function,
// which then fails. Here the function is called.
func userField(name string) bool {
	return slices.ContainsFunc([]string{"list_all", "finger", "connected"},
		func(fun string) bool { return strings.HasSuffix(name, fun) })
}

func TestVectorRunnerAndWheel(t *testing.T) {
	f := vectors.Load(t, "07-clear-requests.json")
	b := newBench(t, func(c *config.Master) {
		opts := f.Top.Value("master_opts").(*data.Map)
		c.MinimumAuthVersion, c.ExternalAuth, c.PublisherACL = 0,
			opts.Value("external_auth").(*data.Map), opts.Value("publisher_acl").(*data.Map)
	}, "db1", "gone1", "web1", "web2")
	for _, id := range []string{"web1", "web9"} {
		if err := b.keys.Put(pki.Pending, id, vectorKey(t, "web1").Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	token := b.clear(t, data.NewMap("cmd", "mk_token", "eauth", "auto", "username", "fred",
		"password", "pw")).(*data.Map).Text("token")
	given := f.Top.Text("root_key_file_text")
	for _, section := range []string{"runner", "wheel"} {
		for _, c := range f.Section(section) {
			t.Run(c.Name, func(t *testing.T) { b.checkRun(t, c.On(t), given, token) })
		}
	}
}

// checkRun sends the request of a case with this master's key and token, and compares the reply.
func (b *bench) checkRun(t *testing.T, c *vectors.Case, given, token string) {
	load := data.Clone(c.Value("request").(*data.Map).Value("load")).(*data.Map)
	if load.Text("key") == given {
		load.Set("key", b.key)
	}
	if len(load.Text("token")) == 64 {
		load.Set("token", token)
	}
	got := b.clear(t, load)
	want := data.Clone(c.Value("reply"))
	m, _ := want.(*data.Map)
	if m.Has("tag") {
		sameRun(t, got, m, userField(c.Name))
	}
	if !data.Equal(got, want) {
		t.Errorf("reply is\n%s\nwant\n%s", data.Repr(got), data.Repr(want))
	}
}

// sameRun puts what differs from run to run, and is as it should be, into the reply that is wanted.
func sameRun(t *testing.T, got any, want *data.Map, called bool) {
	t.Helper()
	m, ok := got.(*data.Map)
	if !ok {
		return
	}
	body, holder := m, want
	if inner, ok := m.Value("data").(*data.Map); ok {
		body, holder = inner, want.Value("data").(*data.Map)
	}
	jid := body.Text("jid")
	if _, err := job.ParseID(jid); err != nil || !strings.HasSuffix(m.Text("tag"), "/"+jid) {
		t.Errorf("tag %q, jid %q: %v", m.Text("tag"), jid, err)
	}
	holder.Set("jid", jid)
	for _, one := range []*data.Map{want, holder} {
		if text := one.Text("tag"); text != "" {
			one.Set("tag", text[:strings.LastIndex(text, "/")+1]+jid)
		}
	}
	if holder.Has("_stamp") {
		stamp := body.Text("_stamp")
		if _, err := time.Parse(stampLayout, stamp); err != nil {
			t.Errorf("stamp of the reply: %v", err)
		}
		holder.Set("_stamp", stamp)
	}
	text, failed := holder.Value("return").(string)
	switch {
	case called:
		if body.Value("success") != true {
			t.Errorf("the call failed: %s", data.Repr(body))
		}
		holder.Set("return", body.Value("return"))
		holder.Set("success", true)
	case failed && strings.HasPrefix(text, "Exception occurred"):
		own := body.Text("return")
		if firstLine(own) != firstLine(text) || lastLine(own) != lastLine(text) {
			t.Errorf("return is %q, want the first and last line of %q", own, text)
		}
		holder.Set("return", own)
		holder.Set("retcode", int64(1)) // as since Salt 3007
	}
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndex(s, "\n")+1:]
}

// refusedCredentials are proofs that prove nothing, or not enough: threats.md, eauth matrix.
func refusedCredentials(t *testing.T, b *bench) map[string]*data.Map {
	t.Helper()
	gone := data.NewMap("start", 1.0, "expire", 2.0, "name", "fred", "eauth", "auto")
	if err := b.parts.gate.Tokens().Add(gone); err != nil {
		t.Fatal(err)
	}
	return map[string]*data.Map{
		"none":                  data.NewMap(),
		"empty key":             data.NewMap("key", "", "user", "root"),
		"no text as key":        data.NewMap("key", []any{b.key}, "user", "root"),
		"wrong key":             data.NewMap("key", "x", "user", "root"),
		"part of the key":       data.NewMap("key", b.key[:70], "user", "root"),
		"key of another user":   data.NewMap("key", b.key+"x", "user", "nobody"),
		"user alone":            data.NewMap("user", "root"),
		"empty token":           data.NewMap("token", ""),
		"wrong token":           data.NewMap("token", strings.Repeat("a", 64)),
		"path as token":         data.NewMap("token", "../.root_key"),
		"expired token":         data.NewMap("token", gone.Text("token")),
		"null token and key":    data.NewMap("token", nil, "key", b.key, "user", "root"),
		"unknown system":        data.NewMap("eauth", "nosuch", "username", "fred", "password", "pw"),
		"empty system":          data.NewMap("eauth", "", "username", "fred", "password", "pw"),
		"system without name":   data.NewMap("eauth", "auto"),
		"wrong password":        data.NewMap("eauth", "auto", "username", "fred", "password", "wrong"),
		"user without a right":  data.NewMap("eauth", "auto", "username", "limited", "password", "pw"),
		"user without any rule": data.NewMap("eauth", "auto", "username", "stranger", "password", "pw"),
	}
}

// TestCVE2021_25281 gives orders with proofs that are not enough: nothing runs, judged by events,
// the queue of runners and the keys on disk (CVE-2020-11651, CVE-2020-25592, CVE-2021-25281,
// CVE-2021-3144).
func TestCVE2021_25281(t *testing.T) {
	b := newBench(t, func(c *config.Master) {
		c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{"@runner", "@wheel"},
			"limited", []any{data.NewMap("web1", []any{"test.ping"})}))
	}, "web1")
	b.listen(t)
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	for name, proof := range refusedCredentials(t, b) {
		for _, order := range []*data.Map{
			data.NewMap("cmd", "runner", "fun", "test.arg",
				"kwarg", data.NewMap("arg", []any{"x"}, "kwarg", data.NewMap())),
			data.NewMap("cmd", "wheel", "fun", "key.gen_accept", "id_", "evil"),
		} {
			order.Update(proof)
			reply, _ := b.clear(t, order).(*data.Map)
			if refusal, ok := reply.Value("error").(*data.Map); !ok ||
				!strings.HasSuffix(refusal.Text("name"), "AuthenticationError") {
				t.Errorf("%s with %s: reply %s", order.Text("cmd"), name, data.Repr(reply))
			}
		}
	}
	if n := len(b.parts.control.waiting); n > 0 {
		t.Errorf("%d runners wait", n)
	}
	if _, err := b.keys.Get(pki.Accepted, "evil"); err == nil {
		t.Error("a wheel function has run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := events.Next(ctx); err == nil {
		t.Errorf("event %s came of it", e.Tag)
	}
}

// TestRunnerRunsAfterTheReply gives an order as the master's user: the reply names the tag under
// which two events come, and the result is among the jobs.
func TestRunnerRunsAfterTheReply(t *testing.T) {
	b := newBench(t, nil, "web1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/run/"}})
	defer events.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.parts.control.serve(ctx) }()
	defer func() { stop(); <-done }()
	reply := b.clear(t, data.NewMap("cmd", "runner", "fun", "test.arg",
		"kwarg", data.NewMap("arg", []any{"a"}, "kwarg", data.NewMap("k", "v")),
		"key", b.key, "user", "root")).(*data.Map)
	jid, tag := reply.Text("jid"), reply.Text("tag")
	for _, suffix := range []string{"/new", "/ret"} {
		limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		e, err := events.Next(limited)
		cancel()
		if err != nil || e.Tag != tag+suffix {
			t.Fatalf("event %q, %v, want %s", e.Tag, err, tag+suffix)
		}
		body, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		body.Delete("_stamp")
		want := data.NewMap("fun", "runner.test.arg", "jid", jid, "user", "root",
			"fun_args", []any{"a", data.NewMap("k", "v")})
		if suffix == "/ret" {
			want.Set("return", data.NewMap("args", []any{"a"}, "kwargs", data.NewMap("k", "v")))
			want.Set("success", true)
		}
		if !data.Equal(body, want) {
			t.Errorf("event %s is\n%s\nwant\n%s", suffix, data.Repr(body), data.Repr(want))
		}
	}
	kept, err := b.jobs.Returns(t.Context(), job.ID(jid))
	if err != nil || len(kept) != 1 || kept[0].Minion != b.cfg.ID {
		t.Fatalf("kept %v, %v", kept, err)
	}
}

// TestWheelTellsOnce calls a wheel function: there is one pair of events, under the jid of the
// reply.
func TestWheelTellsOnce(t *testing.T) {
	b := newBench(t, nil, "web1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	reply := b.clear(t, data.NewMap("cmd", "wheel", "fun", "key.delete", "match", "web1",
		"key", b.key, "user", "root")).(*data.Map)
	var tags []string
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		e, err := events.Next(ctx)
		cancel()
		if err != nil {
			t.Fatalf("after %v: %v", tags, err)
		}
		tags = append(tags, e.Tag)
	}
	want := strings.Join([]string{reply.Text("tag") + "/new", "salt/key", reply.Text("tag") + "/ret"}, " ")
	if strings.Join(tags, " ") != want {
		t.Errorf("events %v, want %s", tags, want)
	}
	if _, err := b.keys.Get(pki.Accepted, "web1"); err == nil {
		t.Error("the key is still there")
	}
}

// TestResultThatIsNotStored asks for results not to be stored: only those of runners that merely look
// are left out.
func TestResultThatIsNotStored(t *testing.T) {
	b := newBench(t, nil, "web1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/run/"}})
	defer events.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.parts.control.serve(ctx) }()
	defer func() { stop(); <-done }()
	for fun, want := range map[string]int{"jobs.active": 0, "test.arg": 1} {
		reply := b.clear(t, data.NewMap("cmd", "runner", "fun", fun, "kwarg", data.NewMap(), "nocache", true,
			"key", b.key, "user", "root")).(*data.Map)
		limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for tag := ""; tag != reply.Text("tag")+"/ret"; {
			e, err := events.Next(limited)
			if err != nil {
				t.Fatalf("%s does not end: %v", fun, err)
			}
			tag = e.Tag
		}
		cancel()
		if kept, err := b.jobs.Returns(t.Context(), job.ID(reply.Text("jid"))); len(kept) != want {
			t.Errorf("%s: %d results are stored (%v), want %d", fun, len(kept), err, want)
		}
	}
}
