package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki/pkitest"
)

// usualKeys creates a tree: web1 and web2 accepted, web1 also denied, new1 and new2 pending, bad1
// rejected.
func usualKeys(t *testing.T) *keyHome {
	t.Helper()
	keys := pkitest.NewKeys(t)
	h := newKeyHome(t)
	for _, name := range []string{"minions/web1", "minions/web2", "minions_pre/new1",
		"minions_pre/new2", "minions_rejected/bad1"} {
		h.write(t, "pki/"+name, keys.A)
	}
	h.write(t, "pki/minions_denied/web1", keys.B)
	return h
}

func (h *keyHome) has(name string) bool {
	_, err := os.Lstat(h.path(name))
	return err == nil
}

// check compares the output and exit code of a run.
func (r keyResult) check(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if diff := cmp.Diff(keyResult{code, stdout, stderr}, r, cmp.AllowUnexported(keyResult{})); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

func TestKeyMistakes(t *testing.T) {
	for _, tt := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // ROOT stands for the directory of the test
	}{
		{"unknown id", []string{"-y", "-a", "nosuch"}, 0,
			"The key glob 'nosuch' does not match any unaccepted keys.\n", ""},
		{"glob that never closes", []string{"-d", "web[12"}, 0,
			"The key glob 'web[12' does not match any unaccepted keys.\n", ""},
		{"nothing to accept in four states", []string{"-a", "x", "--include-denied", "--include-rejected"}, 0,
			"The key glob 'x' does not match any unaccepted, rejected or denied keys.\n", ""},
		{"nothing to reject", []string{"-r", "x", "--include-all"}, 0,
			"The key glob 'x' does not match any unaccepted or accepted keys.\n", ""},
		{"unknown option", []string{"--hash-type=md5"}, 64, "",
			"Usage: salt-key [options]\n\nsalt-key: error: no such option: --hash-type\n"},
		{"unknown outputter", []string{"-l", "den", "--out=nosuch"}, 0, "minions_denied:\n    - web1\n",
			"[ERROR   ] Invalid outputter nosuch specified, fall back to nested\n"},
		{"unknown user", []string{"-L", "-u", "no such user"}, 67, "",
			"Failed to prepare the Salt environment for user no such user. The user is not available.\n"},
		{"output file without a folder", []string{"-L", "--out-file=ROOT/no/file"}, 0, "",
			"Error: [Errno 2] No such file or directory: 'ROOT/no/file'\n"},
		{"log below a file", []string{"-L", "--log-file=ROOT/conf/master/log"}, 64, "",
			"Usage: salt-key [options]\n\nsalt-key: error: [Errno 20] Not a directory: 'ROOT/conf/master'\n"},
		{"signature without keys", []string{"--gen-signature"}, 0,
			"return:\n    No usable private-key found\n", ""},
		{"no private key there", []string{"--gen-signature", "--priv=no"}, 0,
			"return:\n    Private-key no does not exist\n", ""},
		{"no public key there", []string{"--gen-signature", "--pub=no"}, 0,
			"return:\n    Public-key no does not exist\n", ""},
		{"keysize too large", []string{"--gen-keys=x", "--keysize=40000"}, 64, "",
			"Usage: salt-key [options]\n\nsalt-key: error: The maximum value for keysize is 32768\n"},
		{"delete all and an id", []string{"-y", "-D", "web1"}, 64, "",
			"Error: Delete all takes no arguments. Use -d to delete specified keys\n"},
		{"accept all and an id", []string{"-y", "-A", "web1"}, 64, "",
			"Error: Accept all takes no arguments. Use -a to accept specified keys\n"},
		{"reject all and two ids", []string{"web1", "-y", "--reject-all", "web2"}, 64, "",
			"Error: Reject all takes no arguments. Use -r to reject specified keys\n"},
		{"empty glob", []string{"-l", "den", "-a", ""}, 0, "Denied Keys:\nweb1\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := usualKeys(t)
			before := h.listing(t)
			rooted := func(s string) string { return strings.ReplaceAll(s, "ROOT", h.root) }
			for i := range tt.args {
				tt.args[i] = rooted(tt.args[i])
			}
			h.run(t, "", tt.args...).check(t, tt.code, rooted(tt.stdout), rooted(tt.stderr))
			if diff := cmp.Diff(before, h.listing(t)); diff != "" {
				t.Errorf("the keys have changed: %s", diff)
			}
		})
	}
}

func TestKeyWithoutFolders(t *testing.T) {
	h := usualKeys(t)
	if err := os.RemoveAll(h.path("pki/minions_pre")); err != nil {
		t.Fatal(err)
	}
	h.run(t, "", "-l", "pre").check(t, 0,
		"", fmt.Sprintf("Error: [Errno 2] No such file or directory: '%s/pki/minions_pre'\n", h.root))
	h.run(t, "", "-y", "-a", "new1").check(t, 0,
		"The key glob 'new1' does not match any unaccepted keys.\n", "")
	if h.has("pki/minions_pre") {
		t.Error("looking has made a folder")
	}
	if err := os.RemoveAll(h.path("pki")); err != nil {
		t.Fatal(err)
	}
	h.run(t, "").check(t, 0, "", fmt.Sprintf("Error: [Errno 2] No such file or directory: '%s/pki'\n", h.root))
	h.write(t, "pki", "a file")
	h.run(t, "", "-F").check(t, 0, "", fmt.Sprintf("Error: [Errno 20] Not a directory: '%s/pki'\n", h.root))
}

func TestKeyWithoutConfiguration(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "conf/master", "ret_port: many\n")
	r := h.run(t, "", "-L")
	if r.code != exitGeneric || r.stdout != "" || !strings.Contains(r.stderr, "conf/master:1: ret_port") {
		t.Errorf("a wrong configuration gives %+v", r)
	}
	var stdout, stderr bytes.Buffer
	in := Invocation{Args: []string{"-c", h.path("none"), "-l", "acc", "--log-file", h.path("log"),
		"-u", userName()}, Dir: h.root,
		Env: func(string) string { return "" }}
	Key(t.Context(), in, &stdout, &stderr)
	if want := fmt.Sprintf("WARNING: CONFIG '%s' directory does not exist.\n",
		h.path("none")); !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("stderr %q, want first %q", &stderr, want)
	}
}

func TestKeyUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		checkWording(t)
		return
	}
	h := usualKeys(t)
	if err := os.Chmod(h.path("pki"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(h.path("pki"), 0o700) })
	h.run(t, "", "-L").check(t, 0, "", fmt.Sprintf("Error: [Errno 13] Permission denied: '%s/pki'\n", h.root))
	h.run(t, "", "-y", "-a", "new1").check(t, 0,
		"", fmt.Sprintf("Error: [Errno 13] Permission denied: '%s/pki/minions'\n", h.root))
}

// checkWording only checks the wording if run by root: no directory is closed to root.
func checkWording(t *testing.T) {
	t.Helper()
	err := fmt.Errorf("list: %w", &fs.PathError{Op: "open", Path: "/srv/pki", Err: syscall.EACCES})
	if got, want := pythonText(err), "[Errno 13] Permission denied: '/srv/pki'"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestKeyInvalidKeyIsNotAccepted(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "pki/minions_pre/new1", "no key")
	h.run(t, "", "-y", "-a", "new*").check(t, 0,
		"The following keys are going to be accepted:\nUnaccepted Keys:\nnew1\nnew2\nKey for minion new2 accepted.\n",
		"[ERROR   ] Invalid RSA public key: new1\nUnable to accept invalid key for new1.\n")
	if !h.has("pki/minions_pre/new1") || h.has("pki/minions/new1") || !h.has("pki/minions/new2") {
		t.Errorf("the keys are %v", h.listing(t))
	}
}

func TestUnmovableKeyIsReported(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "pki/minions_rejected/new1/file", "in the way")
	r := h.run(t, "", "-y", "-R")
	if r.code != exitGeneric || !strings.HasPrefix(r.stderr, "Unable to reject unaccepted key of new1: ") ||
		strings.Contains(r.stdout, "new1 rejected") ||
		!strings.Contains(r.stdout, "Key for minion new2 rejected.\n") {
		t.Errorf("run %+v", r)
	}
	if !h.has("pki/minions_pre/new1") || h.has("pki/minions_pre/new2") {
		t.Errorf("the keys are %v", h.listing(t))
	}
}

func TestKeyThatMatchesTwiceIsThereOnce(t *testing.T) {
	h := usualKeys(t)
	h.run(t, "", "-y", "-a", "new1,new*").check(t, 0,
		"The following keys are going to be accepted:\nUnaccepted Keys:\nnew1\nnew2\n"+
			"Key for minion new1 accepted.\nKey for minion new2 accepted.\n", "")
}

func TestKeyClearsUp(t *testing.T) {
	all := []string{"minions/bad1", "minions/gone", "minions/new1", "minions/web1", "minions/web2",
		"sessions/.new-1", "sessions/bad1", "sessions/gone", "sessions/web1", "sessions/web2"}
	for _, tt := range []struct {
		name, config string
		args         []string
		want         []string
	}{
		{"delete", "", []string{"-d", "web1"},
			[]string{".dfn", "minions/bad1", "minions/new1", "minions/web2", "sessions/.new-1",
				"sessions/web2"}},
		{"preserve minions", "", []string{"-d", "web1", "--preserve-minions=True"},
			[]string{".dfn", "minions/bad1", "minions/new1", "minions/web1", "minions/web2",
				"sessions/.new-1", "sessions/web1", "sessions/web2"}},
		{"preserve as configured", "preserve_minion_cache: true", []string{"-d", "web1"},
			append([]string{".dfn"}, all...)},
		{"no new session key", "", []string{"-d", "web1", "--rotate-aes-key=False"},
			[]string{"minions/bad1", "minions/new1", "minions/web2", "sessions/.new-1", "sessions/web2"}},
		{"no new session key as configured", "rotate_aes_key: false", []string{"-D"},
			[]string{"sessions/.new-1"}},
		{"reject", "", []string{"-r", "web2", "--include-accepted"},
			[]string{".dfn", "minions/bad1", "minions/new1", "minions/web1", "minions/web2",
				"sessions/.new-1", "sessions/web1"}},
		{"reject does not preserve", "",
			[]string{"-r", "web2", "--include-accepted", "--preserve-minions=True"},
			[]string{".dfn", "minions/bad1", "minions/new1", "minions/web1", "minions/web2",
				"sessions/.new-1", "sessions/web1"}},
		{"accept", "", []string{"-a", "new1"}, all},
		{"nothing matches", "", []string{"-d", "nosuch"}, all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := usualKeys(t)
			h.configure(t, tt.config)
			for _, name := range all {
				if strings.HasPrefix(name, "minions/") {
					name += "/data.p"
				}
				h.write(t, "cache/"+name, "x")
			}
			if r := h.run(t, "", append(tt.args, "-y")...); r.code != 0 || r.stderr != "" {
				t.Fatalf("run %+v", r)
			}
			if diff := cmp.Diff(tt.want, h.cached(t)); diff != "" {
				t.Errorf("the cache (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(h.path("cache/.dfn")); err == nil && info.Mode() != 0o400 {
				t.Errorf("mode of .dfn is %v", info.Mode())
			}
		})
	}
}

// cached returns the entries of the cache directories.
func (h *keyHome) cached(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(h.path("cache/*/*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, _ := filepath.Glob(h.path("cache/.dfn"))
	names = append(names, hidden...)
	for i := range names {
		names[i], _ = filepath.Rel(h.path("cache"), names[i])
	}
	slices.Sort(names)
	return names
}

func TestKeyFollowsNoLinkOutOfTheCache(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "elsewhere/gone/file", "x")
	if err := os.Symlink(h.path("elsewhere"), h.path("cache/minions")); err != nil {
		t.Fatal(err)
	}
	r := h.run(t, "", "-y", "-d", "new1")
	if !h.has("elsewhere/gone/file") || !strings.Contains(r.stderr, "[WARNING ] Key: Delete cache: ") {
		t.Errorf("run %+v, and the file elsewhere is there: %t", r, h.has("elsewhere/gone/file"))
	}
}

func TestKeyWithoutCacheDir(t *testing.T) {
	h := usualKeys(t)
	if err := os.RemoveAll(h.path("cache")); err != nil {
		t.Fatal(err)
	}
	h.run(t, "", "-y", "-d", "new1").check(t, 0,
		"The following keys are going to be deleted:\nUnaccepted Keys:\nnew1\nKey for minion new1 deleted.\n", "")
}

func TestKeyFiresEvents(t *testing.T) {
	h := usualKeys(t)
	if err := os.Mkdir(h.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	bus := eventbus.New(eventbus.Options{})
	sub := bus.Subscribe(eventbus.SubscribeOptions{})
	defer sub.Close()
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- bus.Serve(ctx, eventbus.MasterSockets(h.path("run")),
			eventbus.ServeOptions{Ready: func() { close(ready) }})
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-ready
	for _, step := range []struct {
		args   []string
		events []string
	}{ // each run has a connection of its own, and connections have no order among them
		{[]string{"-y", "-A"}, []string{"accept new1", "accept new2"}},
		{[]string{"-y", "-r", "new1", "--include-accepted"}, []string{"reject new1"}},
		{[]string{"-y", "-d", "web1"}, []string{"delete web1", "delete web1"}},
	} {
		h.run(t, "", step.args...)
		for _, want := range step.events {
			awaitKeyEvent(ctx, t, sub, want)
		}
	}
}

func awaitKeyEvent(ctx context.Context, t *testing.T, sub *eventbus.Subscription, want string) {
	t.Helper()
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	e, err := sub.Next(wait)
	if err != nil {
		t.Fatalf("wait for %s: %v", want, err)
	}
	m, err := e.Map()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Text("act") + " " + m.Text("id"); e.Tag != "salt/key" || got != want ||
		m.Value("result") != true {
		t.Errorf("event %s %v, want %s", e.Tag, m, want)
	}
}

// endless is a terminal without input.
type endless struct{ read chan struct{} }

func (e endless) Read([]byte) (int, error) {
	close(e.read)
	select {}
}

func TestKeyInterrupted(t *testing.T) {
	h := usualKeys(t)
	ctx, stop := context.WithCancel(t.Context())
	stdin := endless{make(chan struct{})}
	go func() {
		<-stdin.read
		stop()
	}()
	var stdout, stderr bytes.Buffer
	code := Key(ctx, Invocation{Args: []string{"-c", h.path("conf"), "-D"}, Dir: h.root,
		Stdin: stdin, Env: func(string) string { return "" }},
		&stdout, &stderr)
	if want := "\nExiting gracefully on Ctrl-c\n"; code != 0 || stderr.String() != want ||
		!strings.HasSuffix(stdout.String(), "Proceed? [N/y] ") {
		t.Errorf("code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
	if !h.has("pki/minions/web1") {
		t.Error("a key was deleted")
	}
}

// meanwhile runs a function when the answer is read, and answers yes.
type meanwhile func()

func (do meanwhile) Read(p []byte) (int, error) {
	do()
	return copy(p, "y\n"), nil
}

func TestKeyThatAnotherDeletes(t *testing.T) {
	h := usualKeys(t)
	var stdout, stderr bytes.Buffer
	stdin := meanwhile(func() {
		if err := os.Remove(h.path("pki/minions_pre/new1")); err != nil {
			t.Error(err)
		}
	})
	code := Key(t.Context(), Invocation{Args: []string{"-c", h.path("conf"), "-A"}, Dir: h.root,
		Stdin: stdin, Env: func(string) string { return "" }},
		&stdout, &stderr)
	keyResult{code, stdout.String(), stderr.String()}.check(t, 0,
		"The following keys are going to be accepted:\nUnaccepted Keys:\nnew1\nnew2\n"+
			"Proceed? [n/Y] Key for minion new2 accepted.\n", "")
}

func TestKeyAnswers(t *testing.T) {
	for _, tt := range []struct {
		act, answer string
		done        bool
	}{
		{"-a", "\n", true}, {"-r", "\n", true}, {"-d", "\n", false}, {"-d", "yes", true}, {"-a",
			" y\n", false}, {"-a", "YES\r\n", true},
		{"-d", "n\ny\n", false}, {"-a", "0\n", false},
	} {
		h := usualKeys(t)
		h.run(t, tt.answer, tt.act, "new1")
		if done := !h.has("pki/minions_pre/new1"); done != tt.done {
			t.Errorf("%s with the answer %q is done: %t", tt.act, tt.answer, done)
		}
	}
}

func TestKeyOutputFile(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "out", "old\n")
	h.run(t, "", "-y", "-a", "new1", "--out-file=out").check(t, 0,
		"The following keys are going to be accepted:\nKey for minion new1 accepted.\n", "")
	h.run(t, "", "-l", "acc", "--out-file=out", "--out-file-append", "--out=txt").check(t, 0, "", "")
	got, err := os.ReadFile(h.path("out"))
	if want := "Unaccepted Keys:\nnew1\nminions: ['new1', 'web1', 'web2']\n"; err != nil ||
		string(got) != want {
		t.Errorf("file %q, %v; want %q", got, err, want)
	}
}

func TestKeyLogFile(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "pki/minions_pre/new1", "no key")
	h.run(t, "", "-y", "-a", "new1", "--log-level=quiet", "--log-file-level=error").check(t, 0,
		"The following keys are going to be accepted:\nUnaccepted Keys:\nnew1\n",
		"Unable to accept invalid key for new1.\n")
	if h.has("log/key") {
		t.Error("a quiet run has written a log")
	}
	h.run(t, "", "-y", "-a", "new1")
	log, err := os.ReadFile(h.path("log/key"))
	if err != nil || !strings.Contains(string(log), "Invalid RSA public key: new1\n") {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestKeyGeneratesPairs(t *testing.T) {
	h := usualKeys(t)
	h.configure(t, "signing_key_pass: secret\n")
	r := h.run(t, "", "--gen-keys=sub/one", "--gen-keys-dir=gen")
	if r.code != 0 || !strings.HasPrefix(r.stderr, "Error: ") {
		t.Errorf("a pair in a folder that is not there: %+v", r)
	}
	r = h.run(t, "", "--gen-keys=one", "--gen-keys-dir=gen", "--keysize=3072")
	pem := h.read(t, "gen/one.pem")
	key, err := crypto.ParsePrivateKey([]byte(pem), "secret")
	if err != nil || key.Bits() != 3072 || !crypto.SameKey(h.read(t, "gen/one.pub"), key.Public().PEM()) {
		t.Fatalf("the pair is wrong: %v, run %+v", err, r)
	}
	if info, err := os.Stat(h.path("gen")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
	again := h.run(t, "", "--gen-keys=one", "--gen-keys-dir=gen")
	if again != r || h.read(t, "gen/one.pem") != pem {
		t.Errorf("a pair that is there was made anew: %+v, then %+v", r, again)
	}
	if err := os.Remove(h.path("gen/one.pem")); err != nil {
		t.Fatal(err)
	}
	if anew := h.run(t, "", "--gen-keys=one", "--gen-keys-dir=gen"); anew == r || anew.code != 0 ||
		anew.stderr != "" {
		t.Errorf("a pair without its private key was not made anew: %+v", anew)
	}
}

func (h *keyHome) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(h.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKeySignature(t *testing.T) {
	h := usualKeys(t)
	h.configure(t, "master_sign_key_name: signer\nmaster_pubkey_signature: the_signature\n")
	if err := os.Mkdir(h.path("out"), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"--gen-signature", "--auto-create", "--pub=pki/minions/web1", "--signature-path=out"}
	h.run(t, "", args...).check(t, 0, "return:\n    True\n", "")
	sig, err := crypto.ParseSignatureText(h.read(t, "out/the_signature"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := crypto.ParsePublicKey([]byte(h.read(t, "pki/signer.pub")))
	if err != nil {
		t.Fatal(err)
	}
	if err := signer.Verify([]byte(h.read(t, "pki/minions/web1")), sig, crypto.SHA1Sign); err != nil {
		t.Error(err)
	}
	h.run(t, "", args...).check(t, 0, "return:\n    False\n", "")
	h.run(t, "", "--gen-signature", "--pub=pki/minions/web1", "--signature-path=none").check(t, 0, "",
		fmt.Sprintf("Error: [Errno 2] No such file or directory: '%s/none/the_signature'\n", h.root))
	if r := h.run(t, "", "--gen-signature", "--pub=pki/signer.pub",
		"--priv=pki/signer.pub"); !strings.HasPrefix(r.stderr, "Error: private key ") {
		t.Errorf("a public key signs: %+v", r)
	}
}

func TestInvalidKeyText(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "pki/minions/web1", "a\r\nb\rc\n")
	h.write(t, "pki/minions/web2", "a\xffb")
	h.run(t, "", "-p", "web1", "--out=json", "--out-indent=-1")
	r := h.run(t, "", "-p", "web1", "--out=txt")
	if want := `'web1': 'a\nb\nc\n'`; !strings.Contains(r.stdout, want) {
		t.Errorf("stdout %q, want in it %q", r.stdout, want)
	}
	h.run(t, "", "-p", "web2").check(t, 0, "", "Error: key web2: not text in UTF-8\n")
}

// full is a terminal that was closed.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestLostKeyOutput(t *testing.T) {
	h := usualKeys(t)
	in := Invocation{Args: []string{"-c", h.path("conf"), "-L"}, Dir: h.root,
		Env: func(string) string { return "" }}
	if code := Key(t.Context(), in, full{}, io.Discard); code != exitGeneric {
		t.Errorf("code %d", code)
	}
}

func TestKeyFromSaltrc(t *testing.T) {
	h := usualKeys(t)
	h.write(t, "home/.saltrc", "eauth: pam\n")
	if r := h.run(t, "", "-L"); r.code != exitGeneric || !strings.Contains(r.stdout, "username: ") {
		t.Errorf("eauth of a saltrc gives %+v, want a question for the name", r)
	}
}

func TestKeyManyKeys(t *testing.T) {
	h := newKeyHome(t)
	key := pkitest.NewKeys(t).A
	for i := range 300 {
		h.write(t, fmt.Sprintf("pki/minions_pre/m%03d", i), key)
	}
	r := h.run(t, "", "-y", "-A")
	if n := strings.Count(r.stdout, " accepted.\n"); n != 300 || r.code != 0 || r.stderr != "" {
		t.Errorf("%d keys were accepted: %+v", n, r)
	}
}

func TestMasterSockets(t *testing.T) {
	got := masterSockets(data.NewMap("ipc_mode", "tcp", "tcp_master_pub_port", int64(4512),
		"tcp_master_pull_port", int64(4513)))
	if want := eventbus.TCPSockets(4512, 4513); got != want {
		t.Errorf("sockets %v, want %v", got, want)
	}
}
