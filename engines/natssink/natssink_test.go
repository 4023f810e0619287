package natssink

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/testsink"
)

// texts returns a list of the options.
func texts(words []string) []any {
	var list []any
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

// listen subscribes to all subjects below salt. The server knows of it on return.
func listen(t *testing.T, nc *nats.Conn) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync("salt.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// next returns the subject of the next message and the field n of its event.
func next(t *testing.T, sub *nats.Subscription) (string, float64) {
	t.Helper()
	m, err := sub.NextMsg(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return m.Subject, parse(t, m.Data)
}

// parse returns the field n of an event.
func parse(t *testing.T, text []byte) float64 {
	t.Helper()
	var event struct {
		Tag  string
		Data map[string]any
	}
	if err := json.Unmarshal(text, &event); err != nil || event.Tag == "" || event.Data["_stamp"] == nil {
		t.Fatalf("%s: %v", text, err)
	}
	n, _ := event.Data["n"].(float64)
	return n
}

func TestEventsArrive(t *testing.T) {
	servers := testnats.Start(t, testnats.Options{NoJetStream: true, MaxPayload: 5000})
	sub := listen(t, servers.Connect(t))
	m := testsink.Run(t, newSink, data.NewMap("servers", texts(servers.URLs()),
		"subject", "salt.{master}.{id}.{tag}", "tags", []any{"salt/job/*", "x*", "//"}))
	m.Fire(t, 1, "salt/job/1/ret/web1.example.com", "other", "x a.*>", "//")
	m.Fire(t, 2, "x")
	for _, want := range []string{"salt.m.web1_example_com.salt.job.1.ret.web1_example_com",
		"salt.m.web1_example_com.x_a___", "salt.m.web1_example_com._._._"} {
		if subject, n := next(t, sub); subject != want || n != 1 {
			t.Errorf("got %s with %v, want %s", subject, n, want)
		}
	}
	if subject, n := next(t, sub); subject != "salt.m.web1_example_com.x" || n != 2 {
		t.Errorf("got %s with %v", subject, n)
	}
	// the server does not take large messages; the next one arrives
	if err := m.Bus.Fire("x", data.NewMap("n", int64(3), "text", strings.Repeat("y", 6000))); err != nil {
		t.Fatal(err)
	}
	m.Fire(t, 4, "x")
	if _, n := next(t, sub); n != 4 {
		t.Errorf("got %v", n)
	}
	testsink.Eventually(t, "all events are counted", func() bool { return m.Counts() == sink.Counts{Sent: 5, Refused: 1} })
}

// Events wait while the server is away, and their stream gets each of them once.
func TestEventsWaitForTheServer(t *testing.T) {
	servers := testnats.Start(t, testnats.Options{})
	js, err := jetstream.New(servers.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"salt.events.>"}})
	if err != nil {
		t.Fatal(err)
	}
	m := testsink.Run(t, newSink, data.NewMap("servers", texts(servers.URLs()), "jetstream", true))
	m.Fire(t, 1, "a")
	testsink.Eventually(t, "an event is sent", func() bool { return m.Counts().Sent == 1 })
	servers.Nodes[0].Kill(t)
	m.Fire(t, 2, "a")
	m.Fire(t, 3, "a")
	testsink.Eventually(t, "the log says that events wait", func() bool {
		return strings.Contains(m.Log(), "engine out: events wait for 127.0.0.1:")
	})
	servers.Nodes[0].Restart(t)
	testsink.Eventually(t, "the events are sent", func() bool { return m.Counts() == sink.Counts{Sent: 3} })
	for n := range 3 {
		stored, err := stream.GetMsg(ctx, uint64(n+1))
		if err != nil {
			t.Fatal(err)
		}
		if parse(t, stored.Data) != float64(n+1) {
			t.Errorf("message %d is %s", n+1, stored.Data)
		}
	}
	if info, err := stream.Info(ctx); err != nil || info.State.Msgs != 3 {
		t.Errorf("%+v, %v; want three messages", info, err)
	}
}

// A stream stores events. One that it has already is not stored again.
func TestJetStream(t *testing.T) {
	servers := testnats.Start(t, testnats.Options{})
	js, err := jetstream.New(servers.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	m := testsink.Run(t, newSink, data.NewMap("servers", texts(servers.URLs()), "jetstream", true))
	m.Fire(t, 1, "a") // waits for a stream
	testsink.Eventually(t, "the log names the event", func() bool {
		return strings.Contains(m.Log(), `events wait for 127.0.0.1:`) && strings.Contains(m.Log(), `send event "a"`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"salt.events.>"},
		MaxMsgSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Bus.Fire("large", data.NewMap("text", strings.Repeat("y", 2000))); err != nil {
		t.Fatal(err)
	}
	m.Fire(t, 2, "b")
	testsink.Eventually(t, "the events are stored", func() bool { return m.Counts() == sink.Counts{Sent: 2, Refused: 1} })
	for i, subject := range []string{"salt.events.a", "salt.events.b"} {
		stored, err := stream.GetMsg(ctx, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		if stored.Subject != subject || parse(t, stored.Data) != float64(i+1) {
			t.Errorf("message %d: %s %s", i+1, stored.Subject, stored.Data)
		}
	}
	b := &broker{o: options(t, data.NewMap("servers", texts(servers.URLs()))), jetstream: true}
	conn, err := b.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	twice := &sink.Message{Topic: "salt.events.c", ID: "one", Body: []byte("x")}
	for range 2 {
		if errs := conn.Send(ctx, []*sink.Message{twice}); errs[0] != nil {
			t.Error(errs)
		}
	}
	if info, err := stream.Info(ctx); err != nil || info.State.Msgs != 3 {
		t.Errorf("%+v, %v; want three messages", info, err)
	}
}

func options(t *testing.T, o *data.Map) *sink.Options {
	t.Helper()
	parsed, err := sink.Parse(engines.Host{ID: "m"}, o, kind())
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// The engine proves who it is in each way that a server may demand, and is refused without.
func TestLogin(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("hidden7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("hidden8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o      testnats.Options
		proof  func(*testnats.Cluster) *data.Map
		others *data.Map // which the server refuses
	}{
		"a user": {o: testnats.Options{User: "u", Password: "hidden7"},
			proof:  func(*testnats.Cluster) *data.Map { return data.NewMap("user", "u", "password_file", password) },
			others: data.NewMap("user", "u", "password_file", wrong)},
		"an nkey": {o: testnats.Options{NKey: true},
			proof: func(c *testnats.Cluster) *data.Map { return data.NewMap("nkey", c.Seed) }, others: data.NewMap()},
		"credentials": {o: testnats.Options{JWT: true},
			proof:  func(c *testnats.Cluster) *data.Map { return data.NewMap("credentials", c.Credentials) },
			others: data.NewMap()},
		"certificates": {o: testnats.Options{TLS: true, ClientCerts: true},
			proof: func(c *testnats.Cluster) *data.Map {
				return data.NewMap("tls_ca", c.CA, "tls_cert", c.Cert, "tls_key", c.Key)
			}, others: data.NewMap("tls", true)},
	} {
		t.Run(name, func(t *testing.T) {
			servers := testnats.Start(t, tt.o)
			sub := listen(t, servers.Connect(t))
			var addresses []any
			for _, url := range servers.URLs() {
				_, address, _ := strings.Cut(url, "://")
				addresses = append(addresses, address)
			}
			proof, others := tt.proof(servers), tt.others.Clone()
			proof.Set("servers", addresses)
			others.Set("servers", addresses)
			stranger := testsink.Run(t, newSink, others)
			stranger.Fire(t, 1, "stranger")
			m := testsink.Run(t, newSink, proof)
			m.Fire(t, 2, "known")
			if subject, n := next(t, sub); subject != "salt.events.known" || n != 2 {
				t.Errorf("got %s with %v", subject, n)
			}
			testsink.Eventually(t, "the stranger is refused", func() bool {
				return strings.Contains(stranger.Log(), "events wait")
			})
			for _, log := range []string{stranger.Log(), m.Log()} {
				if strings.Contains(log, "hidden") {
					t.Errorf("the log has a password: %s", log)
				}
			}
			if c := stranger.Counts(); c.Sent != 0 {
				t.Errorf("the stranger has sent %+v", c)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		options *data.Map
		err     string
	}{
		{data.NewMap("jetstream", int64(1)), "jetstream: expected true or false"},
		{data.NewMap("nkey", "/x", "credentials", "/y"), "only one of them"},
		{data.NewMap("user", "x", "password_file", "/x", "credentials", "/y"), "only one of them"},
		{data.NewMap("topic", "x"), "option topic is unknown"},
		{data.NewMap("subject", "a..b"), "subject: \"a..b\" has two dots"},
		{data.NewMap("subject", "a.{tag}."), "has two dots"},
		{data.NewMap("subject", "$JS.{tag}"), "begins with a letter"},
	} {
		tt.options.Set("servers", []any{"a"})
		if _, err := New(engines.Host{}, tt.options); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", data.Repr(tt.options), err, tt.err)
		}
	}
	if _, err := New(engines.Host{}, data.NewMap()); err == nil {
		t.Error("no servers are accepted")
	}
}

// FuzzClean makes subjects of any value: they are valid, and match no other subject.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"a/b", "", "//", "a b.*>", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		subject := clean(value)
		if strings.ContainsAny(subject, " *>\t\r\n") || check(subject) != nil {
			t.Errorf("%q: %q", value, subject)
		}
		if strings.Count(subject, ".") != strings.Count(value, "/") {
			t.Errorf("%q: %q has other tokens", value, subject)
		}
	})
}
