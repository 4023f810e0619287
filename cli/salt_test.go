package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/payload"
)

// TestVectorPublishRequest compares the publish requests of command lines with the original's.
func TestVectorPublishRequest(t *testing.T) {
	dir := t.TempDir()
	groups := "nodegroups: {webs: 'web*', mixed: 'L@web1,db1 and not G@roles:cache', lst: [web1, db1], nested: 'N@webs or db1'}\n"
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(groups), 0o600); err != nil {
		t.Fatal(err)
	}
	f := vectors.Load(t, "06-publish.json")
	compared := 0
	for _, section := range f.Sections() {
		for _, c := range f.Section(section) {
			requests, _ := c.Map.Value("client_requests").([]any)
			argv := data.TextsOf(c.Map.Value("salt_argv"))
			if len(requests) == 0 || argv[0] == "-b" { // batch is later work
				continue
			}
			want := requests[0].(*data.Map).Value("request_load").(*data.Map)
			t.Run(section+" "+strings.Join(argv, " "),
				func(t *testing.T) { checkRequest(t, dir, argv, want) })
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("%d requests compared", compared)
	}
}

func checkRequest(t *testing.T, dir string, argv []string, want *data.Map) {
	env := func(string) string { return "" }
	o, err := ParseSalt(Invocation{Args: append([]string{"-c", dir}, argv...), Env: env, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadClient(dir, env)
	if err != nil {
		t.Fatal(err)
	}
	s := &saltRun{o: o, cfg: cfg, opts: cfg.Map()}
	o.Merge(s.opts)
	r, err := s.request()
	if err != nil {
		t.Fatal(err)
	}
	if o.Subset > 0 {
		r.Fun, r.Arg = "sys.list_functions", nil
	}
	if r.Arg == nil {
		r.Arg = []any{}
	}
	got := data.NewMap("cmd", "publish", "tgt", r.Target, "fun", r.Fun, "arg", r.Arg,
		"key", want.Value("key"), "tgt_type", r.Kind, "ret", r.Ret,
		"timeout", int64(r.Timeout.Seconds()), "jid", r.JID, "kwargs", r.Kwargs, "user", want.Value("user"))
	ordered := want.Clone()
	if to, ok := ordered.Get("to"); ok { // syndics are later work
		ordered.Delete("to")
		t.Logf("to: %v", to)
	}
	a, err := payload.Marshal(ordered)
	if err != nil {
		t.Fatal(err)
	}
	b, err := payload.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("request (-want +got):\n%s", cmp.Diff(data.Repr(ordered), data.Repr(got)))
	}
}

func TestPeerOf(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1199 0200000A:D431 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n" +
		"   1: 0100007F:1199 0300000A:D431 06 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n" +
		"   2: 0100007F:119A 0400000A:D431 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n" +
		"   3: 0000000000000000FFFF00000100007F:1199 0000000000000000FFFF00000500000A:D431 01 0 0\n" +
		"   4: 00000000000000000000000001000000:1199 B80D0120000000000000000001000000:D431 01 0 0\n" +
		"   5: zz:1199 zz:D431 01\n   6:\n"
	var got []string
	for line := range strings.Lines(table) {
		if addr, ok := peerOf(line, 0x1199); ok {
			got = append(got, addr.String())
		}
	}
	if d := cmp.Diff([]string{"10.0.0.2", "10.0.0.5", "2001:db8::1"}, got); d != "" {
		t.Errorf("peers (-want +got):\n%s", d)
	}
}

// TestNotConnected checks which minions are reported as not connected: one with cached data, while
// others are connected.
func TestNotConnected(t *testing.T) {
	dir := t.TempDir()
	minions, err := payload.MarshalBin(data.NewMap("grains", data.NewMap("ipv4", []any{"10.0.0.7"}),
		"pillar", data.NewMap()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "minions", "known"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "minions", "known", "data.p"), minions, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, id  string
		connected map[string]bool
		cache     bool
		want      string
	}{
		{"others are there", "known", map[string]bool{"web1": true}, true, "Not connected"},
		{"it is there", "known", map[string]bool{"known": true}, true, "No response"},
		{"nobody is there", "known", map[string]bool{}, true, "No response"},
		{"nothing is known of it", "stranger", map[string]bool{"web1": true}, true, "No response"},
		{"nothing is kept", "known", map[string]bool{"web1": true}, false, "No response"},
	} {
		conns := &connections{opts: data.NewMap("minion_data_cache", tt.cache), looked: true,
			minions: openMinionCache(data.NewMap("cachedir", dir)), ids: tt.connected}
		a := answerOf(client.Result{ID: tt.id, Missing: true}, &client.Job{ID: "1"}, conns)
		if text := a.value.(string); !strings.HasPrefix(text, "Minion did not return. ["+tt.want+
			"]") || a.out != "no_return" || a.code != 1 {
			t.Errorf("%s: %q, %s, %d", tt.name, text, a.out, a.code)
		}
	}
}

// TestAnswersOfSilentMinions checks the text for minions that did not return, by what is known
// about them: with a Brine master, which reports missing connections, and with a Salt master.
func TestAnswersOfSilentMinions(t *testing.T) {
	dir := t.TempDir()
	if err := presence.Write(dir, map[string]presence.Connection{"here": {Host: "10.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	free, err := daemon.LockFile(filepath.Join(dir, presence.LockName))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	until := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, id string
		reason   client.Reason
		told     bool
		want     string // the end of the text
		silent   silence
		code     int
	}{
		{"away when the job was sent", "away", client.NotConnected, true, "return. [Not connected]",
			notConnected, 1},
		{"gone by now", "away", client.NoResponse, true, "return. [Not connected]", notConnected, 1},
		{"silent", "here", client.NoResponse, true, "lookup_jid 7", noResponse, 1},
		{"without a key", "away", client.NoKey, true,
			"lookup_jid 7\nNo such minion: the master has no accepted key of this id.", noResponse, 1},
		{"at work", "here", client.AtWork, true, "is at work on it, as far as is known.", atWork, 1},
		{"missed", "here", client.Undelivered, true, "Minion did not return. [Missed]\nit was away",
			noResponse, 1},
		{"not running it", "here", client.NotRunning, true, "does not run this job.", noResponse, 1},
		{"queued", "away", client.Queued, true, "queued for it until 2026-12-24 18:00:00 UTC.", queued, 0},
		{"of a master of Salt's", "away", client.NoResponse, false, "lookup_jid 7", noResponse, 1},
	} {
		conns := &connections{opts: data.NewMap("minion_data_cache", false, "cachedir", dir)}
		a := answerOf(client.Result{ID: tt.id, Missing: true, Reason: tt.reason,
			Why: "it was away"}, &client.Job{ID: "7", Told: tt.told, Expires: until}, conns)
		if text := a.value.(string); !strings.HasSuffix(text, tt.want) || a.silent != tt.silent ||
			a.code != tt.code || a.out != "no_return" {
			t.Errorf("%s: %q, %d, %d, %s", tt.name, text, a.silent, a.code, a.out)
		}
	}
}

func TestQueueTime(t *testing.T) {
	for text, want := range map[string]time.Duration{"yes": 0, "30": 30 * time.Second,
		"90m": 90 * time.Minute, "7d": 168 * time.Hour, "1h30m": 90 * time.Minute} {
		if got, err := queueTime(text); err != nil || got != want {
			t.Errorf("queueTime(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "x", "d", "400d", "9999999999999999999", "1ns", "1.5d"} {
		if got, err := queueTime(text); err == nil {
			t.Errorf("queueTime(%q) = %v", text, got)
		}
	}
}

func FuzzPeerOf(f *testing.F) {
	f.Add("   0: 0100007F:1199 0200000A:D431 01 0", 0x1199)
	f.Fuzz(func(_ *testing.T, line string, port int) { peerOf(line, port) })
}
