package eventbus

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

const vectorFile = "08-events.json"

func TestVectorSections(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	vectors.Later(t, f, []string{"fire", "trim", "tagify", "unpack", "socket_names", "tag_match"},
		map[string]string{"life": "tested in package master"})
	if f.Top.Text("framing") == "" {
		t.Error("framing is not described")
	}
}

var stampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?$`)

func TestVectorFire(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	for _, c := range f.Section("fire") {
		t.Run(c.Name, func(t *testing.T) { checkFire(t, c.On(t)) })
	}
}

func checkFire(t *testing.T, c *vectors.Case) {
	c.Only("name", "bus", "tag", "data", "error", "returns", "socket", "pull_bytes", "frames", "volatile")
	if c.Map.Text("name") == "fire_master on the minion bus" {
		checkFrames(t, c, nil)
		return
	}
	m, isMap := c.Value("data").(*data.Map)
	if c.Has("error") {
		if !isMap {
			return // the type of Fire's parameter says it
		}
		if err := New(Options{}).Fire(c.Text("tag"), m); err == nil {
			t.Errorf("Fire(%q) = nil, want an error like %v", c.Text("tag"), c.Value("error"))
		}
		return
	}
	checkFrames(t, c, m)
}

// checkFrames reads the golden frames and, when m is given, makes the same ones.
func checkFrames(t *testing.T, c *vectors.Case, m *data.Map) {
	var all []byte
	for _, fr := range c.Sub("frames") {
		fr.Only("frame", "tag", "data", "data_key_order")
		frame := fr.Bytes("frame")
		all = append(all, frame...)
		e := readFrame(t, frame)
		got, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		want := fr.Object("data")
		if e.Tag != fr.Text("tag") || !data.Equal(got, want) {
			t.Errorf("frame holds %q %v, want %q %v", e.Tag, data.Repr(got), fr.Text("tag"), data.Repr(want))
		}
		if !data.Equal(got.Keys(), fr.Value("data_key_order")) {
			t.Errorf("keys %v, want %v", got.Keys(), fr.Value("data_key_order"))
		}
		if m != nil {
			if again := fireAt(t, c.Text("tag"), m, want.Text("_stamp"), 0); !bytes.Equal(again, frame) {
				t.Errorf("Fire wrote\n %q, want\n %q", again, frame)
			}
		}
	}
	if m != nil && !bytes.Equal(all, c.Bytes("pull_bytes")) {
		t.Error("the frames are not the bytes on the socket")
	}
}

func readFrame(t *testing.T, frame []byte) Event {
	t.Helper()
	body, err := payload.NewFrameReader(bytes.NewReader(frame), 0).Next()
	if err != nil {
		t.Fatalf("read frame: %v", err)
	}
	e, err := ParseEvent(body)
	if err != nil {
		t.Fatalf("ParseEvent: %v", err)
	}
	return e
}

// fireAt fires an event at the time that the stamp says and returns the frame that socket readers
// get.
func fireAt(t *testing.T, tag string, m *data.Map, stamp string, size int) []byte {
	t.Helper()
	if !stampForm.MatchString(stamp) {
		t.Fatalf("_stamp %q", stamp)
	}
	at, err := time.Parse("2006-01-02T15:04:05", stamp)
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{MaxEventSize: size, Now: func() time.Time { return at }})
	sub := b.Subscribe(SubscribeOptions{})
	if err := b.Fire(tag, m); err != nil {
		t.Fatalf("Fire(%q): %v", tag, err)
	}
	e, err := sub.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e.frame
}

func TestVectorTrim(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	for _, c := range f.Section("trim") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "max_event_size", "tag", "data", "frames", "volatile")
			for _, fr := range c.Sub("frames") {
				stamp := fr.Object("data").Text("_stamp")
				got := fireAt(t, c.Text("tag"), c.Object("data"), stamp, c.Int("max_event_size"))
				if want := fr.Bytes("frame"); !bytes.Equal(got, want) {
					t.Errorf("Fire wrote\n %q, want\n %q", got, want)
				}
			}
		})
	}
}

func TestVectorTagify(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	for _, c := range f.Section("tagify") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("args", "tag")
			args := c.List("args") // suffix, prefix, base
			parts := append([]any{""}, args[0])
			if len(args) > 1 {
				parts[0] = args[1]
			}
			got := Tagify(parts...)
			if len(args) > 2 {
				got = JoinTag(append([]any{args[2]}, parts...)...)
			}
			if got != c.Text("tag") {
				t.Errorf("Tagify(%v) = %q, want %q", parts, got, c.Text("tag"))
			}
		})
	}
}

func TestVectorUnpack(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	for _, c := range f.Section("unpack") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "event", "tag", "data", "error")
			e, err := ParseEvent(c.Bytes("event"))
			if c.Has("error") {
				if err == nil {
					t.Errorf("ParseEvent = %q %q, want an error", e.Tag, e.Data)
				}
				return
			}
			if err != nil {
				t.Fatalf("ParseEvent: %v", err)
			}
			m, err := e.Map()
			if err != nil || e.Tag != c.Text("tag") || !data.Equal(m, c.Value("data")) {
				t.Errorf("got %q %s %v, want %q %s", e.Tag, data.Repr(m), err, c.Text("tag"),
					data.Repr(c.Value("data")))
			}
		})
	}
}

func TestVectorSocketNames(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	for _, c := range f.Section("socket_names") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("id", "hash_type", "pub", "pull")
			got, err := MinionSockets("/run", c.Text("id"), c.Text("hash_type"))
			want := Sockets{"unix", "/run/" + c.Text("pub"), "/run/" + c.Text("pull")}
			if err != nil || got != want {
				t.Errorf("MinionSockets: %v %s", err, cmp.Diff(want, got))
			}
		})
	}
	if got := MasterSockets("/run"); filepath.Base(got.Pub) != "master_event_pub.ipc" ||
		!strings.HasSuffix(got.Pull, "master_event_pull.ipc") {
		t.Errorf("MasterSockets = %v", got)
	}
}

func TestVectorTagMatch(t *testing.T) {
	f := vectors.Load(t, vectorFile)
	for _, c := range f.Section("tag_match") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("match_type", "pattern", "tag", "matches")
			if got := Match(c.Text("match_type"), c.Text("pattern"),
				c.Text("tag")); got != c.Bool("matches") {
				t.Errorf("Match(%q, %q, %q) = %v", c.Text("match_type"), c.Text("pattern"),
					c.Text("tag"), got)
			}
		})
	}
}
