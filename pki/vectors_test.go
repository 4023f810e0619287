package pki

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

const (
	authFile = "04-auth.json"
	diskFile = "09-disk.json"
)

func TestVectorSections(t *testing.T) {
	vectors.Later(t, vectors.Load(t, authFile), []string{"exchange", "protocol_versions"}, map[string]string{
		"client_checks": "channel: the minion's side",
		"life":          "channel: keys that the operator moves between sign-ins",
		"malformed":     "channel: frames that are no sign-in",
	})
	vectors.Later(t, vectors.Load(t, diskFile), []string{"key_tree"}, map[string]string{
		"job_cache": "returners", "minion_data_cache": "cache", "proc_file": "minion", "tokens": "auth",
		"layout": "master", "single_files": "master and minion", "file_cache": "fileclient",
	})
}

// A key tree that the original wrote is opened, read, and written once more to the same bytes and
// modes.
func TestVectorKeyTree(t *testing.T) {
	for _, c := range vectors.Load(t, diskFile).Section("key_tree") {
		t.Run(c.Name, func(t *testing.T) {
			c = c.On(t)
			c.Only("name", "entries")
			original, again := t.TempDir(), t.TempDir()
			entries := c.Sub("entries")
			for _, e := range entries {
				layOut(t, original, e.On(t))
			}
			rewrite(t, entries, original, again)
		})
	}
}

func layOut(t *testing.T, root string, e *vectors.Case) {
	t.Helper()
	e.Only("path", "mode", "type", "size", "bytes")
	path := filepath.Join(root, filepath.FromSlash(e.Text("path")))
	mode := entryMode(t, e)
	var err error
	switch e.Text("type") {
	case "dir":
		err = os.MkdirAll(path, mode|0o700)
	case "file":
		err = os.WriteFile(path, e.Bytes("bytes"), mode)
	default:
		t.Fatalf("type %q is not understood", e.Text("type"))
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func entryMode(t *testing.T, e *vectors.Case) fs.FileMode {
	t.Helper()
	mode, err := strconv.ParseUint(strings.TrimPrefix(e.Text("mode"), "0o"), 8, 12)
	if err != nil {
		t.Fatal(err)
	}
	return fs.FileMode(mode)
}

// rewrite reads the tree below original with this package, writes what it holds below again, and
// compares.
func rewrite(t *testing.T, entries []*vectors.Case, original, again string) {
	t.Helper()
	master := slices.ContainsFunc(entries,
		func(e *vectors.Case) bool { return e.Text("path") == "pki/minions" })
	from, to := openTree(t, filepath.Join(original, "pki"), master), openTree(t,
		filepath.Join(again, "pki"), master)
	for _, e := range entries {
		e = e.On(t)
		if e.Text("type") == "file" {
			copyKey(t, from, to, strings.Split(e.Text("path"), "/")[1:])
		}
		if e.Has("size") && e.Int("size") == 0 {
			continue // an empty file of a minion that sent no key; we store none
		}
		path := filepath.Join(again, filepath.FromSlash(e.Text("path")))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != entryMode(t, e) {
			t.Errorf("%s has mode %v, want %v", e.Text("path"), info.Mode(), entryMode(t, e))
		}
		if text, err := os.ReadFile(path); e.Text("type") == "file" &&
			string(text) != string(e.Bytes("bytes")) {
			t.Errorf("%s holds %q, %v, want %q", e.Text("path"), text, err, e.Bytes("bytes"))
		}
	}
}

// openTree opens a pki_dir of a master, or of a minion.
func openTree(t *testing.T, path string, master bool) *Dir {
	t.Helper()
	if master {
		return open(t, path, Options{})
	}
	keys, err := OpenKeys(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Dir{Keys: keys}
}

func copyKey(t *testing.T, from, to *Dir, parts []string) {
	t.Helper()
	switch name := parts[0]; {
	case len(parts) == 2:
		copyMinionKey(t, from, to, name, parts[1])
	case strings.HasSuffix(name, ".pem"):
		key, err := from.LoadOrCreate(strings.TrimSuffix(name, ".pem"), 2048, "")
		must(t, err)
		must(t, to.in(func(r *room) error { return r.create(name, key.PEM(""), privateMode) }))
	case strings.HasSuffix(name, ".pub"):
		key, err := from.Public(strings.TrimSuffix(name, ".pub"))
		must(t, err)
		must(t, to.SetPublic(strings.TrimSuffix(name, ".pub"), key))
	default:
		t.Errorf("file %q is not understood", name)
	}
}

func copyMinionKey(t *testing.T, from, to *Dir, folder, id string) {
	t.Helper()
	i := slices.IndexFunc(States(), func(s State) bool { return s.Dir() == folder })
	if i < 0 {
		t.Fatalf("folder %q is not understood", folder)
	}
	state := States()[i]
	pem, err := from.Get(state, id)
	must(t, err)
	if pem != "" {
		must(t, to.Create(state, id, pem))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestVectorExchange(t *testing.T)         { vectorAuth(t, "exchange") }
func TestVectorProtocolVersions(t *testing.T) { vectorAuth(t, "protocol_versions") }

func vectorAuth(t *testing.T, section string) {
	f := vectors.Load(t, authFile)
	keys, _ := f.Top.Value("keys").(*data.Map)
	for _, c := range f.Section(section) {
		t.Run(c.Name, func(t *testing.T) { replay(t, keys, c.On(t)) })
	}
}

// replay makes the sign-ins of a case. The file does not say which key is stored for the id before,
// only that one is: either the key that signs in or another one must explain everything that is
// seen.
func replay(t *testing.T, keys *data.Map, c *vectors.Case) {
	t.Helper()
	incoming := keyText(keys, c.Text("minion_key"))
	other := keyText(keys, "other")
	if incoming == "" || other == "" || incoming == other {
		t.Fatal("the keys are not understood")
	}
	same := explain(t, c, incoming, incoming)
	if same == nil {
		return
	}
	if different := explain(t, c, incoming, other); different != nil {
		t.Errorf("with the same key stored: %v\nwith another: %v", same, different)
	}
}

func keyText(keys *data.Map, name string) string {
	m, _ := keys.Value(name).(*data.Map)
	return m.Text("pub")
}

// explain returns what differs when stored is the key of the id before.
func explain(t *testing.T, c *vectors.Case, incoming, stored string) []string {
	t.Helper()
	d := open(t, filepath.Join(t.TempDir(), "pki"), Options{})
	before := c.Object("keys_before")
	for state, ids := range folders(t, before) {
		for _, id := range ids {
			if strings.Contains(c.Name, "path is a directory") {
				must(t, os.Mkdir(filepath.Join(d.Path(), state.Dir(), id), 0o755))
				continue
			}
			must(t, d.Create(state, id, stored))
		}
	}
	var wrong []string
	for _, step := range c.Sub("steps") {
		wrong = append(wrong, explainStep(t, d, c, step.On(t), incoming)...)
	}
	return wrong
}

func folders(t *testing.T, m *data.Map) map[State][]string {
	t.Helper()
	found := map[State][]string{}
	for _, s := range States() {
		list, ok := m.Value(s.Dir()).([]any)
		if !ok {
			t.Fatalf("no folder %s", s.Dir())
		}
		for _, id := range list {
			found[s] = append(found[s], id.(string))
		}
	}
	if m.Len() != len(States()) {
		t.Fatalf("folders %v are not understood", m.Keys())
	}
	return found
}

func explainStep(t *testing.T, d *Dir, c, step *vectors.Case, incoming string) (wrong []string) {
	t.Helper()
	opts := c.Object("master_opts")
	load, _ := step.Object("request").Value("load").(*data.Map)
	if !crypto.SameKey(load.Text("pub"), incoming) {
		t.Fatal("the request carries another key than the case says")
	}
	v, _ := Admit(d, SignIn{
		ID: load.Text("id"), PEM: load.Text("pub"),
		Full: strings.Contains(c.Name, "max_minions reached, unknown") ||
			strings.HasSuffix(c.Name, ", full"), Sign: opts.Value("auto_accept") == true ||
			opts.Has("autosign_file") || opts.Has("autosign_grains_dir"),
		Reject:   opts.Has("autoreject_file"),
		OpenMode: opts.Value("open_mode") == true,
	})
	if want, known := stepReply(step); known && v.Reply != want {
		wrong = append(wrong, "reply "+v.Reply.String()+", want "+want.String())
	}
	if got, want := eventText(v), stepEvent(t, step); step.Map.Value("reply") != nil && got != want {
		wrong = append(wrong, "event "+got+", want "+want)
	}
	for state, want := range folders(t, step.Object("keys_after")) {
		if got := entriesOf(t, d, state); !slices.Equal(got, want) {
			wrong = append(wrong, state.Dir()+" holds "+strings.Join(got, " ")+", want "+
				strings.Join(want, " "))
		}
	}
	return wrong
}

// entriesOf lists everything in a directory of the tree, as the cases do.
func entriesOf(t *testing.T, d *Dir, s State) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.Path(), s.Dir()))
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// stepReply returns what the minion was told; there is a case in which the original answers nothing
// at all.
func stepReply(step *vectors.Case) (Reply, bool) {
	m, ok := step.Map.Value("signed_load").(*data.Map)
	if !ok {
		m, ok = step.Map.Value("reply").(*data.Map)
	}
	if ok && m.Text("enc") == "clear" {
		m, _ = m.Value("load").(*data.Map)
	}
	switch {
	case !ok:
		return 0, false
	case m.Text("enc") == "pub":
		return Accept, true
	case m.Value("ret") == true:
		return Wait, true
	case m.Value("ret") == "full":
		return TooMany, true
	}
	return Refuse, true
}

func eventText(v Verdict) string {
	if !v.Event {
		return "none"
	}
	return data.Repr(data.NewMap("result", v.Result(), "act", v.Act))
}

func stepEvent(t *testing.T, step *vectors.Case) string {
	t.Helper()
	events := step.Sub("events_fired")
	if len(events) == 0 {
		return "none"
	}
	if len(events) > 1 || events[0].Text("tag") != "salt/auth" {
		t.Fatalf("events are not understood: %s", data.Repr(step.Value("events_fired")))
	}
	m := events[0].Object("data")
	return data.Repr(data.NewMap("result", m.Value("result"), "act", m.Text("act")))
}
