package gpg

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/gpg"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

const secret = "open sesame"

// A host has a keychain, and answers the module's calls of other modules.
type host struct {
	t      *testing.T
	dir    string // short, for the socket of gpg-agent
	pillar string // gpg_passphrase
	users  map[string]*data.Map
	r      *loader.Registry
	ran    []*exec.Cmd
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, dir: dir, pillar: secret, users: map[string]*data.Map{}}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	h.users["me"] = data.NewMap("name", me.Username, "home", dir, "uid", me.Uid, "gid", me.Gid)
	for _, sub := range []string{".gnupg", "gpgkeys", "other"} {
		h.keychain(sub)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := &loader.Env{Opts: data.NewMap("conf_file", dir+"/minion"),
		Run: func(ctx context.Context, cmd *exec.Cmd) error {
			h.ran = append(h.ran, cmd)
			return process.Run(ctx, cmd)
		}}
	if h.r, err = loader.NewRegistry(env,
		[]loader.Plugin{h.plugin("config", "get", nil),
			h.plugin("pillar", "get", func(string) any { return h.pillar }),
			h.plugin("user", "info", func(name string) any {
				if u := h.users[name]; u != nil {
					return u
				}
				return data.NewMap()
			}), Plugin()}); err != nil {
		t.Fatal(err)
	}
	return h
}

// plugin returns a module with a function of one argument. The module config has the two functions
// get and option instead, and no option config_dir.
func (h *host) plugin(name, fun string, answer func(string) any) loader.Plugin {
	type one struct{ Name string }
	return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
		if name == "config" {
			return &loader.Module{Funcs: []loader.Func{
				loader.F("get", func(context.Context, one) (any, error) { return "", nil }),
				loader.F("option", func(context.Context, one) (any, error) { return "me", nil }),
			}}, nil
		}
		return &loader.Module{Funcs: []loader.Func{loader.F(fun,
			func(_ context.Context, a one) (any, error) { return answer(a.Name), nil })}}, nil
	}}
}

// keychain creates an empty keychain whose agent ends with the test.
func (h *host) keychain(sub string) string {
	h.t.Helper()
	dir := filepath.Join(h.dir, sub)
	if err := os.Mkdir(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", dir, "--kill", "all").Run() })
	return dir
}

// forget makes the agent of a keychain drop its cached passphrases.
func (h *host) forget(sub string) {
	if err := exec.Command("gpgconf", "--homedir", filepath.Join(h.dir, sub), "--kill",
		"gpg-agent").Run(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) call(fun string, words ...any) (any, error) {
	return h.r.Invoke(h.t.Context(), "gpg."+fun, nil, data.NewMap(words...))
}

// must returns the result of a call.
func (h *host) must(fun string, words ...any) any {
	h.t.Helper()
	v, err := h.call(fun, words...)
	if err != nil {
		h.t.Fatalf("gpg.%s %s: %v", fun, data.Repr(words), err)
	}
	return v
}

// want compares results with what salt-call 3006.18 returns.
func (h *host) want(want, fun string, words ...any) {
	h.t.Helper()
	if got := data.Repr(h.must(fun, words...)); got != want {
		h.t.Errorf("gpg.%s %s\n got %s\nwant %s", fun, data.Repr(words), got, want)
	}
}

// fails checks the text of an error.
func (h *host) fails(want, fun string, words ...any) {
	h.t.Helper()
	v, err := h.call(fun, words...)
	if text := calls.Text(err); !strings.Contains(text, want) || err == nil {
		h.t.Errorf("gpg.%s %s returned %s, error %q, want %q", fun, data.Repr(words),
			data.Repr(v), text, want)
	}
}

// create creates a key and returns its fingerprint.
func (h *host) create(words ...any) string {
	h.t.Helper()
	m := h.must("create_key", append([]any{"key_length", 2048}, words...)...).(*data.Map)
	if m.Value("res") != true || m.Text("message") != "GPG key pair successfully generated." {
		h.t.Fatalf("create_key: %s", data.Repr(m))
	}
	return m.Text("fingerprint")
}

func (h *host) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *host) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

const verifyFailed = "{'res': False, 'message': 'The signature could not be verified.'}"

// TestKeys creates, lists, exports, imports and deletes keys.
func TestKeys(t *testing.T) {
	need.Program(t, "gpg", "gpgconf")
	h := newHost(t)
	h.want("[]", "list_keys")
	a := h.create("name_email", "a@ex.org", "name_real", "Bérta : B")
	b := h.create("name_email", "b@ex.org", "use_passphrase", true, "expire_date", "30d",
		"subkey_type", "RSA", "subkey_length", 2048)
	h.want("{'res': False, 'fingerprint': '', 'message': 'Unable to generate GPG key pair.'}",
		"create_key", "key_type", "NONE")
	h.fails("contains a line break", "create_key", "name_real", "x\n%commit")
	list := h.must("list_keys").([]any)
	if len(list) != 2 || data.Repr(h.must("list_secret_keys")) != data.Repr(list) {
		t.Fatalf("keys %s", data.Repr(list))
	}
	shown := regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(data.Repr(list[0]), "D")
	if want := "{'keyid': '" + a[24:] + "', 'fingerprint': '" + a +
		"', 'uids': ['Bérta : B (Generated by SaltStack) <a@ex.org>'], " +
		"'created': 'D', 'keyLength': '2048', 'ownerTrust': 'Ultimately Trusted', 'trust': 'Ultimately Trusted'}"; shown != want {
		t.Errorf("key\n got %s\nwant %s", shown, want)
	}
	if !list[1].(*data.Map).Has("expires") {
		t.Errorf("no day in %s", data.Repr(list[1]))
	}
	first := data.Repr(list[0])
	h.want(first, "get_key", "fingerprint", a)
	h.want(first, "get_key", "keyid", a[24:])
	h.want(first, "get_secret_key", "keyid", a[32:])
	h.want("False", "get_key", "keyid", "nosuch")
	h.want("False", "get_key")

	armored := h.must("export_key", "keyids", "a@ex.org").(*data.Map)
	if !strings.HasPrefix(armored.Text("comment"), "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n") ||
		armored.Value("res") != true {
		t.Errorf("export: %s", data.Repr(armored))
	}
	h.want("{'res': False}", "export_key", "keyids", "nosuch")
	h.want("False", "export_key", "keyids", "nosuch", "bare", true)
	h.want("{'res': False}", "export_key", "keyids", "--list-keys")
	h.fails("keyids must be passed", "export_key")
	out := filepath.Join(h.dir, "both")
	h.want("{'res': True, 'comment': 'Exported key data has been written to "+out+"'}",
		"export_key", "keyids", a+","+b, "output", out)
	secrets := filepath.Join(h.dir, "secrets")
	h.must("export_key", "keyids", []any{b}, "secret", true, "use_passphrase", true, "output", secrets)
	if info, err := os.Stat(secrets); err != nil || info.Mode() != 0o600 ||
		!strings.Contains(h.read("secrets"), "PRIVATE KEY BLOCK") {
		t.Errorf("secret keys: %v, %v", info.Mode(), err)
	}

	other := []any{"gnupghome", filepath.Join(h.dir, "other")}
	h.want("{'res': True, 'message': 'Successfully imported key(s).'}",
		"import_key", append(other, "filename", out)...)
	h.want("{'res': True, 'message': 'Key(s) already exist in keychain.'}",
		"import_key", append(other, "text", armored.Text("comment"))...)
	h.want("{'res': False, 'message': 'Unable to import key.'}",
		"import_key", append(other, "text", "nonsense")...)
	h.fails("filename does not exist.", "import_key", "filename", "/nosuch")
	h.fails("filename or text must be passed.", "import_key")

	h.want("{'res': False, 'message': 'Required argument, fingerprint or keyid'}", "delete_key")
	h.want("{'res': False, 'message': 'Only specify one argument, fingerprint or keyid'}",
		"delete_key", "keyid", "a", "fingerprint", "b")
	for _, want := range []string{"{'res': True, 'message': 'Public key for " + a + " deleted'}",
		"{'res': False, 'message': 'Key not available in keychain.'}"} {
		h.want(want, "delete_key", append(other, "keyid", a[24:])...)
	}
	h.want("{'res': False, 'message': 'Secret key exists, delete first or pass delete_secret=True.'}", "delete_key", "fingerprint", b)
	h.pillar = ""
	h.want("{'res': False, 'message': 'gpg_passphrase not available in pillar.'}", "delete_key",
		"fingerprint", b, "delete_secret", true)
	h.pillar = secret
	for _, want := range []string{`{'res': True, 'message': 'Secret key for ` + b +
		` deleted\nPublic key for ` + b +
		` deleted'}`, "{'res': False, 'message': 'Key not available in keychain.'}"} {
		h.want(want, "delete_key", "fingerprint", b, "delete_secret", true)
	}
	h.want("["+first+"]", "list_keys")
}

// TestTrust sets the trust in the owner of a key.
func TestTrust(t *testing.T) {
	need.Program(t, "gpg", "gpgconf")
	h := newHost(t)
	a := h.create("user", "salt")
	for _, tt := range []struct{ level, message, list string }{
		{"fully", "Changing ownership trust from Ultimately Trusted to Fully Trusted.", "Fully Trusted"},
		{"fully", "", "Fully Trusted"},
		{"marginally", "Changing ownership trust from Fully Trusted to Marginally.", "Marginally Trusted"},
		{"not_trusted", "Changing ownership trust from Marginally to Not Trusted.", "Not Trusted"},
		{"unknown", "Changing ownership trust from Not Trusted to Unknown.", "Unknown"},
		{"expired", "Changing ownership trust from Unknown to Expired.", "Expired"},
	} {
		want := "{'res': True, 'message': '" + tt.message + "', 'fingerprint': '" + a + "'}"
		if tt.message == "" {
			want = "{'res': True, 'message': ''}"
		}
		h.want(want, "trust_key", "keyid", a[24:], "trust_level", tt.level, "user", "salt")
		if key := h.must("get_key", "fingerprint", a, "user",
			"salt").(*data.Map); key.Text("ownerTrust") != tt.list {
			t.Errorf("%s: %s", tt.level, data.Repr(key))
		}
	}
	h.want("{'res': False, 'message': 'KeyID nosuch not in GPG keychain'}", "trust_key", "keyid",
		"nosuch", "trust_level", "fully")
	h.want("'ERROR: Valid trust levels - expired,unknown,not_trusted,marginally,fully,ultimately'",
		"trust_key", "fingerprint", a, "trust_level", "foo")
	h.want("{'res': False, 'message': 'Required argument, fingerprint or keyid'}", "trust_key",
		"trust_level", "fully")
	h.want("{'res': False, 'message': 'Only specify one argument, fingerprint or keyid'}",
		"trust_key", "keyid", a, "fingerprint", a)
	h.want(`{'res': False, 'message': "gpg: error in '[stdin]': colon missing"}`, "trust_key",
		"fingerprint", "zzz", "trust_level", "fully")
	h.fails("contains a line break", "trust_key", "fingerprint", a+":6:\n"+a, "trust_level", "fully")
}

// TestMessages signs, verifies, encrypts and decrypts.
func TestMessages(t *testing.T) {
	need.Time(t, "gpg makes keys")
	need.Program(t, "gpg", "gpgconf")
	h := newHost(t)
	a := h.create("name_email", "a@ex.org")
	b := h.create("name_email", "b@ex.org", "use_passphrase", true, "subkey_type", "RSA",
		"subkey_length", 2048)
	plainFile := h.file("plain", "data\n")
	good := "{'res': True, 'username': 'Autogenerated Key (Generated by SaltStack) <a@ex.org>', 'key_id': '" + a[24:] +
		"', 'trust_level': 'Ultimate', 'message': 'The signature is verified.'}"
	signed := h.must("sign", "text", "grüße\n", "keyid", a).(string)
	if !strings.HasPrefix(signed, "-----BEGIN PGP SIGNED MESSAGE-----\nHash: ") ||
		!strings.Contains(signed, "\ngrüße\n") {
		t.Errorf("signed %q", signed)
	}
	h.want(good, "verify", "text", signed)
	h.want(good, "verify", "text", signed, "trustmodel", "direct")
	h.want(verifyFailed, "verify", "text", strings.Replace(signed, "grüße", "gruesse", 1))
	h.want(verifyFailed, "verify", "text", "nonsense")
	h.want("{'res': False, 'message': 'Invalid trustmodel defined: foo. Use one of: pgp, classic, tofu, tofu+pgp, direct, always, auto'}", "verify", "trustmodel", "foo")
	h.want("''", "sign", "text", "x", "keyid", "nosuch")
	h.fails("begins with a dash", "sign", "text", "x", "keyid", "--yes")
	h.fails("filename or text must be passed.", "sign")
	h.fails("filename or text must be passed.", "verify")
	clear := h.must("sign", "filename", plainFile, "keyid", b, "use_passphrase", true,
		"output", filepath.Join(h.dir, "signed"))
	if h.read("signed") != clear {
		t.Errorf("the file has %q, want %q", h.read("signed"), clear)
	}
	apart := filepath.Join(h.dir, "apart")
	if out, err := exec.Command("gpg", "--homedir", filepath.Join(h.dir, ".gnupg"), "--batch",
		"-u", a, "-o", apart, "--detach-sign", plainFile).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.want(good, "verify", "filename", plainFile, "signature", apart)
	h.want(verifyFailed, "verify", "filename", filepath.Join(h.dir, "signed"), "signature", apart)
	h.fails("No such file", "verify", "filename", "/nosuch", "signature", apart)

	for range 2 {
		message := h.must("encrypt", "text", "grüße", "recipients", "a@ex.org").(*data.Map)
		if !strings.HasPrefix(message.Text("comment"), "-----BEGIN PGP MESSAGE-----\n") ||
			message.Value("res") != true {
			t.Errorf("encrypted %s", data.Repr(message))
		}
		h.want("{'res': True, 'comment': 'grüße'}", "decrypt", "text", message.Value("comment"))
		h.want("'grüße'", "decrypt", "text", message.Value("comment"), "bare", true)
	}
	invalid := `{'res': False, 'comment': 'invalid recipient.\nPlease check the salt-minion log.'}`
	h.want(invalid, "encrypt", "text", "x", "recipients", "nosuch")
	h.want("False", "encrypt", "text", "x", "recipients", []any{"a@ex.org", "nosuch"}, "bare", true)
	h.fails("begins with a dash", "encrypt", "text", "x", "recipients", "--output")
	h.fails("begins with a dash", "encrypt", "text", "x", "recipients", "a@ex.org", "sign", "-u")
	h.fails("ValueError: No recipients specified with asymmetric encryption", "encrypt", "text", "x")
	h.fails("filename or text must be passed.", "encrypt", "recipients", "a@ex.org")
	h.fails("No such file", "encrypt", "recipients", "a@ex.org", "filename", "/nosuch")
	out := filepath.Join(h.dir, "message")
	h.want("{'res': True, 'comment': 'Encrypted data has been written to "+out+"'}",
		"encrypt", "filename", plainFile, "recipients", []any{"b@ex.org"}, "sign", b,
		"use_passphrase", true, "output", out)
	h.forget(".gnupg")
	h.want(`{'res': False, 'comment': 'decryption failed.\nPlease check the salt-minion log.'}`,
		"decrypt", "filename", out)
	back := filepath.Join(h.dir, "back")
	for range 2 {
		h.want("{'res': True, 'comment': 'Decrypted data has been written to "+back+"'}", "decrypt",
			"filename", out, "output", back, "use_passphrase", true)
	}
	if info, err := os.Stat(back); err != nil || info.Mode() != 0o600 || h.read("back") != "data\n" {
		t.Errorf("decrypted %q, %v, %v", h.read("back"), info.Mode(), err)
	}
	h.want(`{'res': False, 'comment': 'no secret key.\nPlease check the salt-minion log.'}`,
		"decrypt", "filename", out, "user", "salt")
	h.want(`{'res': False, 'comment': 'no data was provided.\nPlease check the salt-minion log.'}`,
		"decrypt", "text", "nonsense")
	h.want("False", "decrypt", "text", "nonsense", "bare", true)
	binary := h.must("encrypt", "text", []byte{0xff, 0, 'x'}, "recipients", "a@ex.org", "bare", true)
	if got, ok := h.must("decrypt", "text", binary, "bare", true).([]byte); !ok ||
		string(got) != "\xff\x00x" {
		t.Errorf("octets come back as %q", got)
	}
	h.pillar = ""
	for _, fun := range []string{"sign", "decrypt"} {
		h.fails("gpg_passphrase not available in pillar.", fun, "text", "x", "use_passphrase", true)
	}
	h.pillar = "a\nb"
	h.fails("ValueError: Invalid passphrase", "sign", "text", "x", "use_passphrase", true)
	h.fails("ValueError: Invalid passphrase", "create_key", "use_passphrase", true)
}

// TestPassphraseIsNotInTheCommandLine checks that the passphrase is visible neither in the process
// list nor in the environment.
func TestPassphraseIsNotInTheCommandLine(t *testing.T) {
	need.Program(t, "gpg", "gpgconf")
	h := newHost(t)
	a := h.create("use_passphrase", true)
	h.forget(".gnupg")
	signed := h.must("sign", "text", "x", "use_passphrase", true)
	if signed == "" {
		t.Error("nothing is signed")
	}
	h.must("export_key", "keyids", a, "secret", true, "use_passphrase", true)
	h.must("delete_key", "fingerprint", a, "delete_secret", true)
	if len(h.ran) < 5 {
		t.Fatalf("gpg ran %d times", len(h.ran))
	}
	for _, cmd := range h.ran {
		if text := strings.Join(append(slices.Clone(cmd.Args), cmd.Env...),
			"\n"); strings.Contains(text, secret) {
			t.Errorf("the passphrase is in %q", text)
		}
	}
}

// TestUsers checks which keychain is used, and that gpg runs as its owner: the owner's
// configuration can name programs.
func TestUsers(t *testing.T) {
	need.Program(t, "gpg", "gpgconf")
	h := newHost(t)
	h.fails("User nosuch does not exist", "list_keys", "user", "nosuch")
	h.fails("ValueError: gnupghome should be a directory (it isn't): /nosuch", "list_keys",
		"gnupghome", "/nosuch")
	h.users["homeless"] = data.NewMap("name", "homeless", "home", "/nosuch",
		"uid", strconv.Itoa(os.Getuid()), "gid", "0")
	h.fails("ValueError: gnupghome should be a directory (it isn't): /nosuch/.gnupg", "list_keys",
		"user", "homeless")
	need.Root(t, "to run gpg as another user")
	nobody := &account{name: "nobody", uid: 65534, gid: 65534}
	home := h.keychain("nobody")
	if err := os.Chmod(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, int(nobody.uid), int(nobody.gid)); err != nil {
		t.Fatal(err)
	}
	h.users["nobody"] = data.NewMap("name", "nobody", "home", "/", "uid", nobody.uid, "gid", nobody.gid)
	marker := filepath.Join(home, "ran-as")
	program := h.file("nobody/agent", "#!/bin/sh\nid -u > "+marker+"\nexec gpg-agent \"$@\"\n")
	h.file("nobody/gpg.conf", "agent-program "+program+"\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(home, "gpg.conf"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.create("user", "nobody", "gnupghome", home)
	if got := h.read("nobody/ran-as"); got != "65534\n" {
		t.Errorf("a program of the user ran as %q", got)
	}
	for _, name := range []string{"pubring.kbx", "trustdb.gpg"} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != uint32(nobody.uid) {
			t.Errorf("%s belongs to %d", name, uid)
		}
	}
	if keys := h.must("list_keys", "user", "nobody", "gnupghome", home).([]any); len(keys) != 1 {
		t.Errorf("keys %s", data.Repr(keys))
	}
	hidden := h.file("hidden", "only root reads this\n") // read before gpg runs
	signed := h.must("sign", "filename", hidden, "user", "nobody", "gnupghome", home).(string)
	if !strings.Contains(signed, "only root reads this") {
		t.Errorf("signed %q", signed)
	}
}

// TestServers checks the requests to key servers, and the output of gpg 2.2.40 for them.
func TestServers(t *testing.T) {
	const fpr = "11BB3673631BCA58B9B5EEDF23992F59CBA5F458"
	dir := t.TempDir()
	body := `#!/bin/sh
echo "$@" >> ` + dir + `/argv
case "$*" in
*--recv-keys*NEW*) echo "[GNUPG:] IMPORT_OK 1 ` + fpr + `" >&2;;
*--recv-keys*OLD*) echo "[GNUPG:] IMPORT_OK 0 ` + fpr + `" >&2;;
*--recv-keys*) echo "gpg: keyserver receive failed: No data" >&2; exit 2;;
*--search-keys*) printf 'info:1:1\npub:` + fpr + `:1:2048:1795404000:1800000000:\nuid:A \\x3a <a@ex.org>:1795404000::\nuid:B\\nC:1795404000::\npub:X:1:::\n';;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "gpg"), []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("TZ", "UTC")
	h := newHost(t)
	for range 2 {
		h.want("{'res': True, 'changes': {}, 'message': ['Key "+fpr+" added to keychain']}",
			"receive_keys", "keys", "NEW")
		h.want("{'res': True, 'changes': {}, 'message': ['Key "+fpr+
			" already exists in keychain']}", "receive_keys", "keys", []any{"OLD", "-v"},
			"keyserver", "hkp://k")
		h.want("{'res': False, 'changes': {}, 'message': ['Unable to add key to keychain']}",
			"receive_keys", "keys", "NONE")
		h.want("[{'keyid': '"+fpr+`', 'uids': ['A : <a@ex.org>', 'B\nC'], 'expires': '2027-01-15', 'created': '2026-11-23', 'keyLength': '2048'}, {'keyid': 'X', 'uids': []}]`,
			"search_keys", "text", " abcd ")
	}
	h.fails("keys must be passed", "receive_keys")
	h.fails("begins with a dash", "receive_keys", "keys", "A", "keyserver", "--list-keys")
	h.fails("begins with a dash", "search_keys", "text", "A", "keyserver", "--list-keys")
	argv, err := os.ReadFile(filepath.Join(dir, "argv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--keyserver keys.openpgp.org --recv-keys -- NEW\n",
		"--keyserver hkp://k --recv-keys -- OLD -v\n", "--search-keys -- 0xabcd\n"} {
		if !strings.Contains(string(argv), want) {
			t.Errorf("no %q in\n%s", want, argv)
		}
	}
}

// TestJudge checks which signatures count.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status []gpg.Status
		code   int
		want   string
	}{
		{"good", []gpg.Status{{Keyword: "GOODSIG", Value: "12 A B"}, {Keyword: "TRUST_FULLY"}}, 0,
			"{'res': True, 'username': 'A B', 'key_id': '12', 'trust_level': 'Fully', 'message': 'The signature is verified.'}"},
		{"of a key that expired", []gpg.Status{{Keyword: "EXPKEYSIG", Value: "12 A B"},
			{Keyword: "TRUST_UNDEFINED"}}, 0,
			"{'res': True, 'username': None, 'key_id': '12', 'trust_level': 'Undefined', 'message': 'The signature is verified.'}"},
		{"of a key that was revoked", []gpg.Status{{Keyword: "REVKEYSIG", Value: "12 A B"},
			{Keyword: "TRUST_UNDEFINED"}}, 0, verifyFailed},
		{"one good and one bad", []gpg.Status{{Keyword: "GOODSIG", Value: "12 A"},
			{Keyword: "TRUST_FULLY"}, {Keyword: "BADSIG", Value: "13 B"}}, 0, verifyFailed},
		{"good, and gpg fails", []gpg.Status{{Keyword: "GOODSIG", Value: "12 A"},
			{Keyword: "TRUST_FULLY"}}, 1, verifyFailed},
		{"no trust is told", []gpg.Status{{Keyword: "GOODSIG", Value: "12 A"}}, 0, verifyFailed},
		{"nothing", nil, 0, verifyFailed},
	} {
		if got := data.Repr(judge(&gpg.Result{Status: tt.status, Code: tt.code})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestCryptStatus checks the texts for the outcome of encryption and decryption.
func TestCryptStatus(t *testing.T) {
	for _, tt := range []struct {
		lines, want string
		ok          bool
	}{
		{"BEGIN_ENCRYPTION 2 9\nEND_ENCRYPTION", "encryption ok", true},
		{"BEGIN_DECRYPTION\nDECRYPTION_OKAY\nGOODMDC\nEND_DECRYPTION", "decryption ok", true},
		{"DECRYPTION_OKAY\nDECRYPTION_FAILED", "decryption failed", false},
		{"NO_SECKEY 1\nBEGIN_DECRYPTION\nDECRYPTION_FAILED", "no secret key", false},
		{"BEGIN_DECRYPTION\nDECRYPTION_FAILED\nNODATA 1", "decryption failed", false},
		{"NODATA 1\nFAILURE decrypt 4294967295", "no data was provided", false},
		{"FAILURE sign 67108875", "sign: incorrect passphrase", false},
		{"FAILURE encrypt 67141633", "encrypt: permission denied", false},
		{"FAILURE encrypt 9", "error - encrypt 9", false},
		{"FAILURE odd", "error - odd", false},
		{"", "", false},
	} {
		r := &gpg.Result{}
		for line := range strings.SplitSeq(tt.lines, "\n") {
			word, value, _ := strings.Cut(line, " ")
			r.Status = append(r.Status, gpg.Status{Keyword: word, Value: value})
		}
		if got, ok := cryptStatus(r); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %q, %t, want %q, %t", tt.lines, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzParse checks that no key listing makes the parser panic: names in it can contain anything.
func FuzzParse(f *testing.F) {
	f.Add([]byte("pub:u:2048:1:23992F59CBA5F458:1795404000:::u:::scESC::::::23::0:\nfpr:::::::::11BB:\nuid:u::::1795404000::H::A \\x3a \\xff\\n::::::::::0:\n"))
	f.Add([]byte("uid\nfpr:\nsub\npub"))
	f.Fuzz(func(_ *testing.T, out []byte) {
		results(parse(out, func(f []string) *key {
			return &key{trust: f[1], length: f[2], id: f[4], created: f[5], expires: f[6], owner: f[8]}
		}, 9), true)
	})
}
