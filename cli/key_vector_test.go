package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/pki/keyring"
)

// keyRoot is where the vectors were made.
const keyRoot = "/tmp/s/k"

// namedTrees are the key trees of cases whose names say that they do not start from
// default_key_sets.
func namedTrees() map[string]*data.Map {
	return map[string]*data.Map{
		"no keys at all": data.NewMap(),
		"ordering": data.NewMap("minions",
			data.NewMap("b", "minion", "A", "minion2", "a10", "other", "a2", "minion", ".hid",
				"minion", "Z", "minion2")),
	}
}

// continuing lists the cases that start where the previous one ended: after -a new1.
func continuing() []string { return []string{"accept again", "after accept"} }

// starting are the names of cases that start from default_key_sets.
func starting() []string {
	return []string{"prompt yes", "prompt no", "prompt end of input", "prompt capital yes",
		"delete prompt no", "delete all prompt", "accept all prompt", "accept all prompt no",
		"reject all prompt"}
}

func TestVectorKey(t *testing.T) {
	f := vectors.Load(t, "10-cli-key.json")
	known := []string{"list", "change", "prompt"}
	vectors.Later(t, f, known, nil)
	pairs := vectors.Load(t, "03-rsa.json").Top.Value("keys").(*data.Map)
	for _, section := range known {
		for i, c := range f.Section(section) {
			t.Run(fmt.Sprintf("%s/%d %s", section, i, keyCommand(c)), func(t *testing.T) {
				c = c.On(t)
				c.Only("name", "program", "argv", "stdin", "exit_code", "stdout", "stderr",
					"volatile", "keys_before", "keys_after", "seq")
				runKeyVector(t, c, pairs, startingTree(t, c, f.Top.Value("default_key_sets").(*data.Map)))
			})
		}
	}
}

func keyCommand(c *vectors.Case) string { return strings.Join(data.TextsOf(c.Value("argv")), " ") }

func startingTree(t *testing.T, c *vectors.Case, usual *data.Map) *data.Map {
	t.Helper()
	if !c.Has("name") || slices.Contains(starting(), c.Text("name")) {
		return usual
	}
	name := c.Text("name")
	if tree := namedTrees()[name]; tree != nil {
		return tree
	}
	if !slices.Contains(continuing(), name) {
		t.Fatalf("the test does not know how the case %q starts", name)
	}
	tree := usual.Clone()
	pending, accepted := usual.Value("minions_pre").(*data.Map).Clone(),
		usual.Value("minions").(*data.Map).Clone()
	accepted.Set("new1", pending.Value("new1"))
	pending.Delete("new1")
	tree.Set("minions_pre", pending)
	tree.Set("minions", accepted)
	return tree
}

func runKeyVector(t *testing.T, c *vectors.Case, pairs, tree *data.Map) {
	if program := c.Text("program"); program != "salt-key" {
		t.Fatalf("program %q", program)
	}
	home := newKeyHome(t)
	home.lay(t, pairs, tree)
	if before := fmt.Sprint(c.Value("keys_before")); before != fmt.Sprint(home.listing(t)) {
		t.Fatalf("keys before are %v, want %s", home.listing(t), before)
	}
	args := data.TextsOf(c.Value("argv"))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], keyRoot, home.root)
	}
	stdin, _ := c.Value("stdin").(string)
	got := home.run(t, stdin, args...)
	if want := c.Int("exit_code"); got.code != want {
		t.Errorf("exit code %d, want %d", got.code, want)
	}
	want := c.Text("stdout")
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--gen-keys=") }) && got.code == exitOK {
		want = home.freshFingerprint(t, want)
	}
	if args[0] == "--version" {
		want = got.stdout // it is our version; its own test checks the form
	}
	for _, v := range data.TextsOf(c.Value("volatile")) {
		re := regexp.MustCompile(v)
		want, got.stdout = re.ReplaceAllString(want, "*"), re.ReplaceAllString(got.stdout, "*")
	}
	if got.stdout != want {
		t.Errorf("stdout\n%s\nwant\n%s", got.stdout, want)
	}
	if withoutLog(got.stderr) != withoutLog(c.Text("stderr")) {
		t.Errorf("stderr\n%s\nwant\n%s", got.stderr, c.Text("stderr"))
	}
	after := c.Value("keys_after")
	if after == "unchanged" {
		after = c.Value("keys_before")
	}
	if now := fmt.Sprint(anySize(home.listing(t))); now != fmt.Sprint(anySize(after.([]any))) {
		t.Errorf("keys after\n%s\nwant\n%v", now, after)
	}
}

// anySize removes the size of the private key that a case makes, which varies.
func anySize(files []any) []any {
	var all []any
	for _, f := range files {
		if file := f.([]any); file[0] == "master_sign.pem" {
			f = file[:2]
		}
		all = append(all, f)
	}
	return all
}

// withoutLog removes log lines.
func withoutLog(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "[") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A keyHome is a master's host for a test: configuration and key tree below a directory.
type keyHome struct {
	root string
	env  map[string]string
}

type keyResult struct {
	code           int
	stdout, stderr string
}

func newKeyHome(t *testing.T) *keyHome {
	t.Helper()
	root, err := os.MkdirTemp("", "key") // a short path, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	h := &keyHome{root: root, env: map[string]string{"HOME": filepath.Join(root, "home")}}
	h.configure(t, "")
	for _, dir := range []string{"pki", "cache", "home"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// configure writes the configuration, with further lines.
func (h *keyHome) configure(t *testing.T, more string) {
	t.Helper()
	h.write(t, "conf/master", fmt.Sprintf("root_dir: %s\npki_dir: pki\ncachedir: cache\nsock_dir: run\nkey_logfile: log/key\nuser: %q\n%s",
		h.root, userName(), more))
}

func (h *keyHome) path(name string) string { return filepath.Join(h.root, name) }

func (h *keyHome) write(t *testing.T, name, text string) {
	t.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lay creates a key tree: a map of directory to id to the name of a pair.
func (h *keyHome) lay(t *testing.T, pairs, tree *data.Map) {
	t.Helper()
	h.write(t, "pki/master.pem", pairs.Value("master").(*data.Map).Text("pem"))
	h.write(t, "pki/master.pub", pairs.Value("master").(*data.Map).Text("pub"))
	if err := os.Chmod(h.path("pki/master.pem"), 0o400); err != nil {
		t.Fatal(err)
	}
	for _, s := range keyring.States() {
		if err := os.Mkdir(h.path("pki/"+s.Dir()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for folder, ids := range tree.All() {
		for id, pair := range ids.(*data.Map).All() {
			h.write(t, fmt.Sprintf("pki/%s/%s", folder, id), pairs.Value(pair).(*data.Map).Text("pub"))
		}
	}
}

// listing returns path, mode and size of each file in the key tree, as the vectors hold them.
func (h *keyHome) listing(t *testing.T) []any {
	t.Helper()
	var all []any
	err := filepath.WalkDir(h.path("pki"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(h.path("pki"), path)
		all = append(all, []any{filepath.ToSlash(name),
			"0o" + strconv.FormatInt(int64(info.Mode().Perm()), 8), info.Size()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(a.([]any)[0].(string), b.([]any)[0].(string)) })
	return all
}

// run runs salt-key with the configuration of h.
func (h *keyHome) run(t *testing.T, stdin string, args ...string) keyResult {
	t.Helper()
	var stdout, stderr bytes.Buffer
	in := Invocation{Args: append([]string{"-c", h.path("conf")}, args...), Dir: h.root,
		Stdin: strings.NewReader(stdin),
		Env:   func(name string) string { return h.env[name] }}
	code := Key(t.Context(), in, &stdout, &stderr)
	return keyResult{code, stdout.String(), stderr.String()}
}

// freshFingerprint inserts the fingerprint of the new pair into the golden text, after checking the
// pair.
func (h *keyHome) freshFingerprint(t *testing.T, golden string) string {
	t.Helper()
	pem, err := os.ReadFile(h.path("gen/gk.pem"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := crypto.ParsePrivateKey(pem, "")
	if err != nil {
		t.Fatal(err)
	}
	pub, err := os.ReadFile(h.path("gen/gk.pub"))
	if err != nil || !crypto.SameKey(string(pub), key.Public().PEM()) || key.Bits() != 2048 {
		t.Fatalf("gk.pub is not of gk.pem with %d bits: %v", key.Bits(), err)
	}
	finger, err := crypto.Fingerprint(pub, "sha256")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`([0-9a-f]{2}:){31}[0-9a-f]{2}`).ReplaceAllString(golden, finger)
}
