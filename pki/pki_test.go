package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
)

func open(t testing.TB, path string, o Options) *Dir {
	t.Helper()
	d, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newDir(t testing.TB, o Options) *Dir { return open(t, filepath.Join(t.TempDir(), "pki"), o) }

// twoKeys are the texts of two keys that all tests share.
var twoKeys = sync.OnceValue(func() (texts [2]string) {
	for i := range texts {
		k, err := crypto.GenerateKey(2048)
		if err != nil {
			panic(err)
		}
		texts[i] = k.Public().PEM()
	}
	return texts
})

func write(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode))
}

// age sets the times of a file back.
func age(t testing.TB, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	must(t, os.Chtimes(path, then, then))
}

func TestValidID(t *testing.T) {
	for _, id := range []string{"web1", "web1.example.com", "ünï", "a b", "a..b", "-x",
		"[", strings.Repeat("a", 255)} {
		if err := ValidID(id); err != nil {
			t.Errorf("ValidID(%q): %v", id, err)
		}
	}
	for _, id := range []string{"", ".", "..", ".a", "a/b", "/a", "../a", `a\b`, "a\x00", "a\n",
		"a\x7f", "a\u0085", "a\u202eb", "a\u200fb", "a\u2066b", "a\u2028b", "\xff", "a\xc3",
		strings.Repeat("a", 256)} {
		if err := ValidID(id); !errors.Is(err, ErrInvalidID) {
			t.Errorf("ValidID(%q): %v, want ErrInvalidID", id, err)
		}
	}
}

// Each state of the stored key, with each kind of sign-in: the table of the reference.
func TestJudge(t *testing.T) {
	const a, d, p, r = "accept", "denied", "pend", "reject"
	refuse, wait, accept := Refuse, Wait, Accept
	table := map[State]map[string]Verdict{
		Unknown: {
			"same":          {CreatePending, wait, true, p},
			"other":         {CreatePending, wait, true, p},
			"same, sign":    {CreateAccepted, accept, true, a},
			"other, sign":   {CreateAccepted, accept, true, a},
			"same, reject":  {CreateRejected, refuse, true, r},
			"other, reject": {CreateRejected, refuse, true, r},
		},
		Accepted: {
			"same":          {Keep, accept, true, a},
			"other":         {Deny, refuse, true, d},
			"same, sign":    {Keep, accept, true, a},
			"other, sign":   {Deny, refuse, true, d},
			"same, reject":  {Keep, accept, true, a},
			"other, reject": {Deny, refuse, true, d},
		},
		Pending: {
			"same":          {Keep, wait, true, p},
			"other":         {Deny, refuse, true, d},
			"same, sign":    {AcceptPending, accept, true, a},
			"other, sign":   {Deny, refuse, true, ""},
			"same, reject":  {RejectPending, refuse, true, r},
			"other, reject": {RejectPending, refuse, true, r},
		},
		Rejected: {
			"same":          {Keep, refuse, true, ""},
			"other":         {Keep, refuse, true, ""},
			"same, sign":    {Keep, refuse, true, ""},
			"other, sign":   {Keep, refuse, true, ""},
			"same, reject":  {Keep, refuse, true, ""},
			"other, reject": {Keep, refuse, true, ""},
		},
	}
	table[Denied] = table[Unknown] // a denied key does not count
	for state, row := range table {
		for kind, want := range row {
			c := Claim{State: state, Stored: twoKeys()[0], Incoming: twoKeys()[1],
				Sign: strings.HasSuffix(kind, "sign"), Reject: strings.HasSuffix(kind, "reject")}
			if strings.HasPrefix(kind, "same") {
				c.Incoming = c.Stored + "\r\n"
			}
			if got := Judge(c); got != want {
				t.Errorf("%s, %s: %+v, want %+v", state, kind, got, want)
			}
			both := c
			both.Sign, both.Reject = true, true
			if got := Judge(both); got.Action == CreateAccepted || got.Action == AcceptPending {
				t.Errorf("%s, %s: a rule that rejects lost to one that accepts", state, kind)
			}
			checkOverrides(t, c)
		}
	}
}

// checkOverrides looks at what comes before the states.
func checkOverrides(t *testing.T, c Claim) {
	t.Helper()
	full, empty, openMode := c, c, c
	full.Full = true
	if got, want := Judge(full), (Verdict{Keep, TooMany, true, "full"}); got != want {
		t.Errorf("full: %+v, want %+v", got, want)
	}
	empty.Incoming, empty.OpenMode = "", true
	if got := Judge(empty); got != (Verdict{}) {
		t.Errorf("no key: %+v, want a silent refusal", got)
	}
	openMode.OpenMode = true
	got := Judge(openMode)
	want := ReplaceAccepted
	if c.State == Accepted && c.same() {
		want = Keep
	}
	if got.Reply != Accept || got.Action != want {
		t.Errorf("open mode, %s: %+v, want accept and %s", c.State, got, want)
	}
}

func TestAdmitRefusesBadKeys(t *testing.T) {
	d := newDir(t, Options{})
	for _, text := range []string{"", "not a key", twoKeys()[0] + "\n" + twoKeys()[1],
		strings.Repeat("x", 1<<20)} {
		v, err := Admit(d, SignIn{ID: "web1", PEM: text, Sign: true, OpenMode: true})
		if v != (Verdict{}) || !errors.Is(err, crypto.ErrBadKey) {
			t.Errorf("Admit(%.20q) = %+v, %v, want a silent refusal and ErrBadKey", text, v, err)
		}
	}
	if state, _, _ := d.Find("web1"); state != Unknown {
		t.Errorf("stored as %s", state)
	}
	if v, err := Admit(d, SignIn{ID: "../web1", PEM: twoKeys()[0], Sign: true}); v != (Verdict{}) ||
		!errors.Is(err, ErrInvalidID) {
		t.Errorf("Admit of ../web1 = %+v, %v", v, err)
	}
}

func TestOneOfTwoNewKeysIsStored(t *testing.T) {
	d := newDir(t, Options{})
	var wg sync.WaitGroup
	replies := make([]Reply, 8)
	for i := range replies {
		wg.Go(func() {
			v, err := Admit(d, SignIn{ID: "web1", PEM: twoKeys()[i%2]})
			if err != nil {
				t.Error(err)
			}
			replies[i] = v.Reply
		})
	}
	wg.Wait()
	stored, err := d.Get(Pending, "web1")
	must(t, err)
	for i, r := range replies {
		if want := map[bool]Reply{true: Wait, false: Refuse}[stored == twoKeys()[i%2]]; r != want {
			t.Errorf("sign-in %d: %s, want %s", i, r, want)
		}
	}
}

func TestPendingKeysAreCapped(t *testing.T) {
	d := newDir(t, Options{MaxPending: 5})
	for i := range 10 {
		v, err := Admit(d, SignIn{ID: fmt.Sprint("m", i), PEM: twoKeys()[0]})
		if v.Reply != Wait || (i >= 5) != errors.Is(err, ErrPendingFull) {
			t.Errorf("sign-in %d: %+v, %v", i, v, err)
		}
	}
	ids, err := d.List(Pending)
	if want := []string{"m0", "m1", "m2", "m3", "m4"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("pending: %q, %v, want %q", ids, err, want)
	}
	if v, err := Admit(d, SignIn{ID: "m0", PEM: twoKeys()[0]}); v.Reply != Wait || err != nil {
		t.Errorf("sign-in of a pending key: %+v, %v", v, err)
	}
	// The operator makes room with another program.
	must(t, os.Remove(filepath.Join(d.Path(), "minions_pre", "m0")))
	age(t, filepath.Join(d.Path(), "minions_pre"), time.Minute)
	if _, err := Admit(d, SignIn{ID: "new", PEM: twoKeys()[0]}); err != nil {
		t.Errorf("sign-in after room was made: %v", err)
	}
}

// TestOneAddressHasAShareOfPendingKeys signs in with many ids from one network, whose share ends
// before that of all.
func TestOneAddressHasAShareOfPendingKeys(t *testing.T) {
	d := newDir(t, Options{MaxPending: 8, MaxOfOne: 3})
	flood, other := netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/64")
	sign := func(source netip.Prefix, id string) error {
		v, err := Admit(d.From(source), SignIn{ID: id, PEM: twoKeys()[0]})
		if v.Reply != Wait {
			t.Errorf("sign-in of %s: %+v, want Wait", id, v)
		}
		return err
	}
	for i := range 6 {
		if err := sign(flood, fmt.Sprint("m", i)); (i >= 3) != errors.Is(err, ErrPendingFull) {
			t.Errorf("sign-in %d of one address: %v", i, err)
		}
	}
	must(t, sign(flood, "m0")) // that waits already
	must(t, sign(other, "web1"))
	must(t, sign(netip.Prefix{}, "local"))
	ids, err := d.List(Pending)
	if want := []string{"local", "m0", "m1", "m2", "web1"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("pending: %q, %v, want %q", ids, err, want)
	}
	// The operator accepts one with another program: its place is free.
	must(t, os.Rename(filepath.Join(d.Path(), "minions_pre", "m1"), filepath.Join(d.Path(), "minions", "m1")))
	age(t, filepath.Join(d.Path(), "minions_pre"), time.Minute)
	must(t, sign(flood, "m4"))
	if err := sign(flood, "m5"); !errors.Is(err, ErrPendingFull) {
		t.Errorf("sign-in above the share: %v", err)
	}
}

func TestAcceptedKeyFollowsTheDisk(t *testing.T) {
	d := newDir(t, Options{})
	path := filepath.Join(d.Path(), "minions", "web1")
	want := func(what string, text string) {
		t.Helper()
		key, err := d.AcceptedKey("web1")
		switch {
		case text == "" && !errors.Is(err, ErrNotFound):
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		case text != "" && (err != nil || key.PEM() != text):
			t.Errorf("%s: %v, or another key", what, err)
		}
	}
	want("nothing stored", "")
	must(t, d.Create(Pending, "web1", twoKeys()[0]))
	want("pending", "")
	must(t, os.Rename(filepath.Join(d.Path(), "minions_pre", "web1"), path))
	want("moved by hand", twoKeys()[0])
	want("once more", twoKeys()[0])
	write(t, path, twoKeys()[1], 0o644)
	want("written anew", twoKeys()[1])
	age(t, path, time.Hour)
	want("an old file", twoKeys()[1])
	write(t, path, twoKeys()[0]+"\n", 0o644)
	age(t, path, time.Hour)
	want("replaced by one of the same age", twoKeys()[0])
	must(t, os.Remove(path))
	want("removed", "")
	must(t, os.Mkdir(path, 0o755))
	if _, err := d.AcceptedKey("web1"); !errors.Is(err, ErrNotFile) {
		t.Errorf("a folder: %v, want ErrNotFile", err)
	}
	must(t, os.RemoveAll(filepath.Join(d.Path(), "minions")))
	must(t, os.Mkdir(filepath.Join(d.Path(), "minions"), 0o755))
	write(t, path, twoKeys()[1], 0o644)
	want("in a new folder", twoKeys()[1])
}

func TestParsedKeysAreKeptWithinBounds(t *testing.T) {
	p := newParsed(3)
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, "x", 0o644)
	info, err := os.Stat(path)
	must(t, err)
	key := &crypto.PublicKey{}
	if p.put("young", info, []byte("x"), key); p.get("young", info) != nil {
		t.Error("a file that was just written is known by its times")
	}
	if p.of("young", []byte("x")) != key || p.of("young", []byte("y")) != nil ||
		p.of("other", []byte("x")) != nil {
		t.Error("a text is not parsed once, or another one is taken for it")
	}
	settledInfo := agedInfo{info}
	for i := range 10 {
		p.put(fmt.Sprint(i), settledInfo, []byte("x"), key)
	}
	if len(p.keys) != 3 {
		t.Errorf("%d keys kept, want 3", len(p.keys))
	}
}

// agedInfo is that of a file which has been there for an hour.
type agedInfo struct{ fs.FileInfo }

func (a agedInfo) ModTime() time.Time { return time.Now().Add(-time.Hour) }
func (a agedInfo) Sys() any           { return nil }

func TestListIgnoresWhatIsNoKey(t *testing.T) {
	d := newDir(t, Options{})
	minions := filepath.Join(d.Path(), "minions")
	for _, name := range []string{"b", "A", "a10", "a2", ".hid", "Z", ".key_cache"} {
		write(t, filepath.Join(minions, name), "x", 0o644)
	}
	must(t, os.Mkdir(filepath.Join(minions, "folder"), 0o755))
	must(t, os.Symlink("b", filepath.Join(minions, "link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(minions, "outside")))
	ids, err := d.List(Accepted)
	if want := []string{"A", "a10", "a2", "b", "link", "Z"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("List = %q, %v, want %q", ids, err, want)
	}
	if text, err := d.Get(Accepted, "outside"); err == nil {
		t.Errorf("a link out of the folder was read: %q", text)
	}
}

func TestModes(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		mode fs.FileMode
	}{{Options{}, 0o700}, {Options{Permissive: true}, 0o750}} {
		path := filepath.Join(t.TempDir(), "pki")
		must(t, os.Mkdir(path, 0o777))
		d := open(t, path, tt.o)
		_, err := d.LoadOrCreate("master", 2048, "")
		must(t, err)
		must(t, d.Create(Pending, "web1", twoKeys()[0]))
		for file, want := range map[string]fs.FileMode{"": tt.mode, "master.pem": 0o400,
			"master.pub": 0o644, "minions_pre/web1": 0o644} {
			info, err := os.Stat(filepath.Join(path, file))
			must(t, err)
			if info.Mode().Perm() != want && runtime.GOOS != "windows" {
				t.Errorf("%q has mode %v, want %v", file, info.Mode(), want)
			}
		}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	d := newDir(t, Options{})
	must(t, d.Create(Pending, "web1", twoKeys()[0]))
	d.Create(Pending, "web1", twoKeys()[1])
	must(t, d.Put(Pending, "web1", twoKeys()[1]))
	must(t, os.Mkdir(filepath.Join(d.Path(), "minions_pre", "folder"), 0o755))
	if err := d.Put(Pending, "folder", twoKeys()[0]); err == nil {
		t.Error("a folder was replaced by a key")
	}
	if got, want := entriesOf(t, d, Pending), []string{"folder", "web1"}; !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func TestLoadOrCreate(t *testing.T) {
	for _, passphrase := range []string{"", "secret"} {
		d := newDir(t, Options{})
		var wg sync.WaitGroup
		keys := make([]*crypto.PrivateKey, 4)
		for i := range keys {
			wg.Go(func() {
				key, err := d.LoadOrCreate("minion", 2048, passphrase)
				if err != nil {
					t.Error(err)
				}
				keys[i] = key
			})
		}
		wg.Wait()
		public, err := d.Public("minion")
		must(t, err)
		for _, k := range keys {
			if k != nil && !k.Public().Equal(public) {
				t.Error("two programs got different keys")
			}
		}
		must(t, d.RemovePublic("minion"))
		if _, err := d.LoadOrCreate("minion", 2048, passphrase); err != nil {
			t.Error(err)
		}
		if again, err := d.Public("minion"); err != nil || !again.Equal(public) {
			t.Errorf("the public key was not written again: %v", err)
		}
	}
}

func TestLoadOrCreateRefuses(t *testing.T) {
	d := newDir(t, Options{})
	_, err := d.LoadOrCreate("master", 2048, "secret")
	must(t, err)
	before, err := d.ReadText("master.pem")
	must(t, err)
	if _, err := d.LoadOrCreate("master", 2048, "wrong"); !errors.Is(err, crypto.ErrPassphrase) {
		t.Errorf("wrong passphrase: %v", err)
	}
	must(t, d.WriteText("master.pub", twoKeys()[0]))
	if _, err := d.LoadOrCreate("master", 2048, "secret"); !errors.Is(err, ErrMismatch) {
		t.Errorf("another public key: %v, want ErrMismatch", err)
	}
	if after, err := d.ReadText("master.pem"); err != nil || after != before {
		t.Errorf("the private key was changed: %v", err)
	}
	for _, name := range []string{"", "../x", "a/b", ".x"} {
		if _, err := d.LoadOrCreate(name, 2048, ""); !errors.Is(err, ErrInvalidID) && name != "" {
			t.Errorf("LoadOrCreate(%q): %v, want ErrInvalidID", name, err)
		}
	}
}

// Salt 3008 keeps the pair under the host's name and links to it.
func TestLinkedPairIsRead(t *testing.T) {
	d := newDir(t, Options{})
	key, err := d.LoadOrCreate("host", 2048, "")
	must(t, err)
	must(t, os.Symlink("host.pem", filepath.Join(d.Path(), "master.pem")))
	must(t, os.Symlink("host.pub", filepath.Join(d.Path(), "master.pub")))
	got, err := d.LoadOrCreate("master", 2048, "")
	if err != nil || !got.Public().Equal(key.Public()) {
		t.Errorf("LoadOrCreate: %v, or another key", err)
	}
}

func TestDropFile(t *testing.T) {
	f := DropFile{Dir: t.TempDir()}
	path := filepath.Join(f.Dir, ".dfn")
	take := func(what string, want bool, wantErr error) {
		t.Helper()
		if got, err := f.Take(); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: Take = %t, %v, want %t, %v", what, got, err, want, wantErr)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file is still there", what)
		}
	}
	take("no file", false, nil)
	must(t, f.Request())
	must(t, f.Request())
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != 0o400 || info.Size() != 0 {
		t.Errorf("the file has mode %v and %d bytes", info.Mode(), info.Size())
	}
	take("requested", true, nil)
	for _, mode := range []fs.FileMode{0o600, 0o444, 0o440, 0o000, 0o777} {
		write(t, path, "", mode)
		take(fmt.Sprintf("mode %v", mode), false, ErrPermissions)
	}
	must(t, os.Symlink("/etc/passwd", path))
	take("a link", false, ErrPermissions)
	write(t, path, "id of a master", 0o400)
	take("with content", true, nil)
	write(t, path, "", 0o644)
	if err := f.Clear(); err != nil {
		t.Errorf("Clear: %v", err)
	}
	take("cleared", false, nil)
}

func TestAutosignLines(t *testing.T) {
	for _, tt := range []struct {
		lines, id    string
		sign, reject bool
	}{
		{"web1", "web1", true, true},
		{"web1\n", "web2", false, false},
		{"# web1", "web1", false, false},
		{"\n\n", "web1", false, false},
		{"  web1  ", "web1", true, true},
		{"web1.example.com", "web1.example.com", true, true},
		{"web1.example.com", "web1xexample.com", true, true},
		{"web1.example.com", "web1.example.com.evil", false, false},
		{"web.", "webü", true, true},
		{"web.", "web", false, false},
		{"web*", "web1.example.com", true, true},
		{"*.example.com", "web1.example.com", true, true},
		{"*.example.com", "example.com", false, false},
		{"web?", "web1", true, true},
		{"web?", "web12", false, false},
		{"web[0-3]", "web2", true, true},
		{"web[!0-3]", "web2", true, true}, // as a regular expression a set with !
		{"web[!0-3]", "web5", true, true},
		{"web[!0-3]", "webx", true, true},
		{"web[", "web[", true, true},
		{`web\d+`, "web12", true, true},
		{`web\d+`, "xweb12", false, false},
		{`web\d+`, "web12x", false, false},
		{"web|db", "db", true, true},
		{"web|db", "web-evil", false, true}, // Salt rejects it; it also would accept it
		{"WEB1", "web1", false, false},
		{"db1\nweb1", "web1", true, true},
	} {
		path := filepath.Join(t.TempDir(), "rules")
		write(t, path, tt.lines, 0o644)
		sign, _, err := (&Autosign{File: path}).Decide(tt.id, nil)
		if sign != tt.sign || err != nil {
			t.Errorf("autosign_file %q, %q: %t, %v, want %t", tt.lines, tt.id, sign, err, tt.sign)
		}
		_, reject, err := (&Autosign{RejectFile: path}).Decide(tt.id, nil)
		if reject != tt.reject || err != nil {
			t.Errorf("autoreject_file %q, %q: %t, %v, want %t", tt.lines, tt.id, reject, err, tt.reject)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, tt := range []struct {
		pattern, id string
		want        bool
	}{
		{"[!0-3]", "2", false}, {"[!0-3]", "5", true}, {"[]a]", "]", true}, {"[]a]", "b", false},
		{"[!]a]", "]", false}, {"[!]a]", "b", true}, {"[a", "[a", true}, {"[!", "[!", true},
		{"[]", "[]", true},
		{"[z-a]", "m", false}, {"[!z-a]", "m", true}, {"[a-]", "-", true}, {`[\]`, `\`, true},
		{"[^a]", "^", true},
		{"[^a]", "b", false}, {"a*c", "a\nc", true}, {"(a|b)", "a", false}, {"(a|b)",
			"(a|b)", true}, {"", "", true},
	} {
		re, err := compileGlob(tt.pattern)
		if err != nil || re.MatchString(tt.id) != tt.want {
			t.Errorf("%q, %q: %v, want %t", tt.pattern, tt.id, err, tt.want)
		}
	}
}

func TestAutosignPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs the rights of Unix")
	}
	for _, tt := range []struct {
		mode       fs.FileMode
		permissive bool
		want       bool
	}{
		{0o644, false, true}, {0o600, false, true}, {0o664, false, false}, {0o664, true, true},
		{0o666, false, false}, {0o666, true, false}, {0o646, true, false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "os")
		write(t, path, "web1", tt.mode)
		file := &Autosign{File: path, Permissive: tt.permissive}
		grains := &Autosign{GrainsDir: dir, Permissive: tt.permissive}
		for name, a := range map[string]*Autosign{"file": file, "grains": grains} {
			sign, _, err := a.Decide("web1", data.NewMap("os", "web1"))
			if sign != tt.want || tt.want == errors.Is(err, ErrPermissions) {
				t.Errorf("%s of mode %v, permissive %t: %t, %v, want %t", name, tt.mode,
					tt.permissive, sign, err, tt.want)
			}
		}
	}
}

func TestAutosignFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	a := &Autosign{File: path}
	want := func(what string, want bool) {
		t.Helper()
		if sign, _, err := a.Decide("web1", nil); sign != want || err != nil {
			t.Errorf("%s: %t, %v, want %t", what, sign, err, want)
		}
	}
	want("no file", false)
	write(t, path, "web1", 0o644)
	want("written", true)
	write(t, path, "web2", 0o644)
	want("another line", false)
	age(t, path, time.Hour)
	want("old", false)
	want("kept", false)
	write(t, path, "web1", 0o644)
	want("back", true)
}

func TestAutosignUnusableRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, "web(?=1)1\n(a)\\1\ndb1", 0o644)
	a := &Autosign{File: path}
	sign, _, err := a.Decide("db1", nil)
	if !sign || err == nil || !strings.Contains(err.Error(), `(?=1)`) ||
		!strings.Contains(err.Error(), `\\1`) {
		t.Errorf("Decide = %t, %v, want true and both lines named", sign, err)
	}
	unreadable := filepath.Join(t.TempDir(), "folder")
	must(t, os.Mkdir(unreadable, 0o700))
	a = &Autosign{AcceptAll: true, RejectFile: unreadable}
	if sign, _, err := a.Decide("web1", nil); sign || !errors.Is(err, ErrNotFile) {
		t.Errorf("with a reject file that cannot be read: %t, %v", sign, err)
	}
	if sign, _, err := (&Autosign{AcceptAll: true}).Decide("../x", nil); sign ||
		!errors.Is(err, ErrInvalidID) {
		t.Errorf("with an invalid id: %t, %v", sign, err)
	}
}

func TestAutosignDir(t *testing.T) {
	d := newDir(t, Options{})
	a := &Autosign{Dir: d.AutosignDir(), Timeout: 2 * time.Hour}
	stub := func(id string) string { return filepath.Join(a.Dir, id) }
	write(t, stub("web1"), "", 0o644)
	write(t, stub("old"), "", 0o644)
	age(t, stub("old"), 3*time.Hour)
	for _, tt := range []struct {
		id   string
		want bool
	}{{"web2", false}, {"web1", true}, {"web1", false}, {"old", false}} {
		if sign, _, err := a.Decide(tt.id, nil); sign != tt.want || err != nil {
			t.Errorf("Decide(%s) = %t, %v, want %t", tt.id, sign, err, tt.want)
		}
	}
	if _, err := os.Stat(stub("old")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old file is still there")
	}
	write(t, stub("web1"), "", 0o644)
	a.AcceptAll = true
	if sign, _, err := a.Decide("web1", nil); !sign || err != nil {
		t.Errorf("Decide = %t, %v", sign, err)
	}
	if _, err := os.Stat(stub("web1")); err != nil {
		t.Errorf("the file was used up though not needed: %v", err)
	}
}

func TestAutosignGrains(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kind"), "# kinds\nbox\n True \n3\n", 0o644)
	a := &Autosign{GrainsDir: dir}
	for _, tt := range []struct {
		grains *data.Map
		want   bool
	}{
		{nil, false},
		{data.NewMap("kind", "box"), true},
		{data.NewMap("kind", "cart"), false},
		{data.NewMap("kind", int64(3)), true},
		{data.NewMap("kind", true), true},
		{data.NewMap("kind", "# kinds"), false},
		{data.NewMap("kind", ""), false},
		{data.NewMap("other", "box"), false},
		{data.NewMap("../"+filepath.Base(dir)+"/kind", "box"), false},
	} {
		if sign, _, err := a.Decide("web1", tt.grains); sign != tt.want || err != nil {
			t.Errorf("Decide(%s) = %t, %v, want %t", data.Repr(tt.grains), sign, err, tt.want)
		}
	}
}

func FuzzValidID(f *testing.F) {
	for _, id := range []string{"web1", "..", "a/b", "ü", "a\x00b", strings.Repeat("a", 256)} {
		f.Add(id)
	}
	d := newDir(f, Options{})
	write(f, filepath.Join(d.Path(), "canary"), "secret", 0o600)
	f.Fuzz(func(t *testing.T, id string) {
		for _, s := range States() {
			if text, err := d.Get(s, id); err == nil {
				t.Errorf("Get(%q) = %q", id, text)
			}
		}
		if ValidID(id) != nil {
			return
		}
		if filepath.Base(id) != id || filepath.Dir(filepath.Join("/pki", id)) != "/pki" {
			t.Errorf("id %q leaves its folder", id)
		}
	})
}

func FuzzAutosignLines(f *testing.F) {
	f.Add("web*\n# x\n[a-z]\\d+|db", "web1")
	f.Add("[!]-\\", "x")
	f.Add("a.b.ü", "axbxü")
	f.Fuzz(func(t *testing.T, lines, id string) {
		strict, lax := parseSigningFile([]byte(lines), true), parseSigningFile([]byte(lines), false)
		if strict.matches(id) && !lax.matches(id) {
			t.Errorf("the strict reading of %q takes %q, the other does not", lines, id)
		}
		for _, line := range rules([]byte(lines)) {
			if !strict.matches(line) {
				t.Errorf("line %q does not match itself", line)
			}
		}
	})
}

func BenchmarkAcceptedKey(b *testing.B) {
	d := newDir(b, Options{})
	must(b, d.Create(Accepted, "web1", twoKeys()[0]))
	path := filepath.Join(d.Path(), "minions", "web1")
	b.Run("young", func(b *testing.B) { benchAccepted(b, d) })
	age(b, path, time.Hour)
	time.Sleep(settled) // until the inode's own time is old too
	b.Run("kept", func(b *testing.B) { benchAccepted(b, d) })
}

func benchAccepted(b *testing.B, d *Dir) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.AcceptedKey("web1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAutosign10000Lines(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rules")
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&lines, "web%d.example.com\n", i)
	}
	write(b, path, lines.String(), 0o644)
	age(b, path, time.Hour)
	time.Sleep(settled)
	a := &Autosign{File: path}
	b.ReportAllocs()
	for b.Loop() {
		if sign, _, err := a.Decide("web9999.example.com", nil); !sign || err != nil {
			b.Fatal(sign, err)
		}
	}
}

func TestVisitTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range States() {
		if ids, err := Visit(dir, Options{}).List(s); err != nil || len(ids) > 0 {
			t.Errorf("List(%v) = %v, %v", s, ids, err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder has %v and mode %v, want nothing and 0755", entries, info.Mode())
	}
}

// A public key alone is no place for a new pair: nobody who trusts it would take the new one.
func TestAPrivateKeyThatIsLostIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	keys, err := OpenKeys(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.LoadOrCreate("master", 2048, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "master.pem")); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.LoadOrCreate("master", 2048, ""); err == nil ||
		!strings.Contains(err.Error(), "master.pem is missing") {
		t.Errorf("LoadOrCreate: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "master.pem")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a new master.pem: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "master.pub")); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.LoadOrCreate("master", 2048, ""); err != nil {
		t.Errorf("a new pair: %v", err)
	}
}
