package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/testnats"
)

func TestOpenRefusesUnsuitableServers(t *testing.T) {
	off := newSite(t, testnats.Options{NoJetStream: true})
	alone := one(t)
	small := newSite(t, testnats.Options{MaxFile: 32 << 20})
	for _, tt := range []struct {
		name   string
		s      *site
		change func(*Options)
		want   error
		text   string
	}{
		{"without JetStream", off, func(*Options) {}, ErrServer, "JetStream turned off"},
		{"too few servers", alone, func(o *Options) { o.Replicas = 3 }, ErrServer,
			"3 replicas are wanted and the server is alone"},
		{"too little storage", small, func(*Options) {}, ErrServer, "67108864 bytes"},
		{"no server", alone, func(o *Options) { o.Servers = []string{"nats://127.0.0.1:1"} }, nil, "127.0.0.1:1"},
		{"no key file", alone, func(o *Options) { o.KeyFile += "x" }, os.ErrNotExist, "cluster key"},
		{"no member", alone, func(o *Options) { o.Member = "" }, nil, "member id"},
		{"a name that NATS does not take", alone, func(o *Options) { o.Name = "a.b" }, nil, `"a.b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.s.o
			o.Member = "a"
			tt.change(&o)
			c, err := Open(patiently(t), o)
			if err == nil {
				c.Close()
				t.Fatal("it opens")
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

func TestOpenGivesUpWhenItsContextEnds(t *testing.T) {
	s := one(t)
	s.servers.Nodes[0].Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	o := s.o
	o.Member = "a"
	if c, err := Open(ctx, o); err == nil {
		c.Close()
		t.Error("it opens on a server that stands still")
	}
}

func TestOpenRefusesAForeignStream(t *testing.T) {
	s := one(t)
	s.o.Name = "first"
	s.join(t, "a")
	nc := s.servers.Connect(t)
	_, err := nc.Request("$JS.API.STREAM.CREATE.second_returns",
		[]byte(`{"name":"second_returns","subjects":["other"],"storage":"file","retention":"limits","num_replicas":1}`), patience)
	must(t, err)
	s.o.Name = "second"
	if _, err := s.open(t, "a"); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "second_returns") {
		t.Errorf("Open = %v, want %v", err, ErrServer)
	}
}

func TestProofs(t *testing.T) {
	for name, tt := range map[string]struct {
		o   testnats.Options
		set func(*Options, *testnats.Cluster)
	}{
		"user and password": {testnats.Options{User: "u", Password: "p"},
			func(o *Options, _ *testnats.Cluster) { o.User, o.Password = "u", "p" }},
		"nkey": {testnats.Options{NKey: true},
			func(o *Options, c *testnats.Cluster) { o.NKey = c.Seed }},
		"credentials": {testnats.Options{JWT: true},
			func(o *Options, c *testnats.Cluster) { o.Credentials = c.Credentials }},
		"certificates": {testnats.Options{TLS: true, ClientCerts: true},
			func(o *Options, c *testnats.Cluster) { o.TLS = TLS{c.CA, c.Cert, c.Key} }},
		"a domain": {testnats.Options{Domain: "hub"},
			func(o *Options, _ *testnats.Cluster) { o.Domain = "hub" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tt.o)
			if tt.o.Domain == "" {
				if _, err := s.open(t, "a"); err == nil {
					t.Error("it opens without a proof")
				}
			}
			tt.set(&s.o, s.servers)
			c := s.join(t, "a")
			if serial, _, err := c.Publications().Publish(patiently(t), "", []byte("x")); serial != 1 || err != nil {
				t.Errorf("Publish = %d, %v", serial, err)
			}
			got := make(chan Publication, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Publications().Subscribe(ctx, 0, func(p Publication) error { got <- p; return nil })
			receive(t, got, 1)
		})
	}
}

func TestMembersComeAndGo(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a"), s.join(t, "b/with odd characters")
	ids := func() string {
		members, err := a.Members(patiently(t))
		must(t, err)
		var all []string
		for _, m := range members {
			all = append(all, m.ID)
			if time.Since(m.Seen).Abs() > patience || m.Version == "" {
				t.Errorf("member %+v", m)
			}
		}
		return strings.Join(all, ",")
	}
	if got := ids(); got != "a,b/with odd characters" {
		t.Errorf("members %s", got)
	}
	must(t, b.Close())
	if got := ids(); got != "a" {
		t.Errorf("members %s after b has left", got)
	}
	s.join(t, "b/with odd characters") // at once, as it has left
}

func TestAMemberIDIsTakenOnce(t *testing.T) {
	s := one(t)
	a := s.join(t, "a")
	if _, err := s.open(t, "a"); !errors.Is(err, ErrMember) {
		t.Errorf("second Open = %v, want %v", err, ErrMember)
	}
	if err := a.Quorum(); err != nil {
		t.Errorf("the first suffers: %v", err)
	}
	// a process that another replaced while it stood still
	changed := a.Changed()
	_, err := a.pulse.b.update(patiently(t), "a", func(value) ([]byte, error) {
		other := &pulse{record: beatRecord{Instance: "other", ID: "a"}}
		return other.body(), nil
	})
	must(t, err)
	receive(t, changed, 0)
	<-changed
	if err := a.Quorum(); !errors.Is(err, ErrMember) {
		t.Errorf("Quorum = %v, want %v", err, ErrMember)
	}
}

func TestQuorumIsLostAndComesBack(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	if err := c.Quorum(); err != nil {
		t.Fatal(err)
	}
	changed := c.Changed()
	start := time.Now()
	s.servers.Nodes[0].Stop(t)
	<-changed
	t.Logf("noticed after %s", time.Since(start))
	if err := c.Quorum(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Quorum = %v, want %v", err, ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := c.Publications().Publish(ctx, "", nil); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Publish = %v, want %v", err, ErrUnavailable)
	}
	changed = c.Changed()
	s.servers.Nodes[0].Continue(t)
	<-changed
	if err := c.Quorum(); err != nil {
		t.Errorf("Quorum = %v after the server came back", err)
	}
}

// TestNATSSeesNoSecrets looks for the contents of all writes in the files of the server.
func TestNATSSeesNoSecrets(t *testing.T) {
	const secret = "correct horse battery staple"
	s := one(t)
	c := s.join(t, "a")
	ctx := patiently(t)
	_, _, err := c.Publications().Publish(ctx, "", []byte(secret))
	must(t, err)
	_, err = c.Returns().Add(ctx, []byte(strings.Repeat(secret, 1<<16)))
	must(t, err)
	must(t, c.Leases().Run(ctx, "l", func(ctx context.Context, token Token) error {
		f, err := c.Leases().Fence(ctx, token)
		must(t, err)
		return f.Save(ctx, []byte(secret))
	}))
	must(t, c.Close())
	s.servers.Nodes[0].Kill(t)
	files := 0
	must(t, filepath.WalkDir(s.servers.Store("n1"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has it", path)
		}
		return err
	}))
	if files < 10 {
		t.Errorf("%d files only", files)
	}
}
