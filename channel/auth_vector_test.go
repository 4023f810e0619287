package channel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// differs lists the sign-ins and malformed frames that are answered otherwise than by Salt 3006.0,
// with the reply. Where the original sends none, the peer would wait for nothing.
var differs = map[string]struct {
	reply any // nil: any reply, judged by what is said of the keys and events
	why   string
}{
	"auth_mode 2 with token": {nil,
		"the option breaks the original, which sends no reply; it is not offered"},
	"load nil":  {"bad load", "an envelope is refused as a whole"},
	"load list": {"bad load", "an envelope is refused as a whole"},
	"enc unknown": {"bad load",
		"only clear and aes exist: no other name may reach a command"},
	"enc pub with _auth": {"bad load",
		"only clear and aes exist: no other name may reach a command"},
	"enc nil": {"bad load",
		"only clear and aes exist: no other name may reach a command"},
	"id is a list": {"bad load: id ['a'] is not a string",
		"3006.12 refuses every id that is not text"},
	"version is a string": {"bad load", "the original sends no reply"},
	"version nil": {data.NewMap("cmd", "ping"),
		"the original sends no reply; null counts as absent"},
	"_auth without id": {string(replyException), "the original sends no reply"},
	"_auth without pub": {string(replyException),
		"the original sends no reply, and leaves an empty pending key"},
	"_auth without nonce at version 2": {string(replyException),
		"the original sends no reply, after it announced the minion"},
}

func TestVectorAuth(t *testing.T) {
	f := vectors.Load(t, authFile)
	sections := []string{"exchange", "client_checks", "protocol_versions", "life", "malformed"}
	vectors.Later(t, f, sections, nil)
	ring := keysOf(t, f)
	session := f.Top.Text("session_aes_key")
	for _, section := range sections {
		t.Run(section, func(t *testing.T) {
			for _, c := range f.Section(section) {
				t.Run(c.Name, func(t *testing.T) { authCase(t, ring, session, c.On(t)) })
			}
		})
	}
}

// authCase plays a case on both sides. The file does not say which key is stored for the id before:
// the one that signs in, or another one, must explain everything.
func authCase(t *testing.T, ring keyring, session string, c *vectors.Case) {
	t.Helper()
	c.Only("name", "master_key", "minion_key", "minion_id", "master_opts", "minion_opts",
		"keys_before", "steps", "master_sign_key")
	same := explain(t, ring, session, c, c.Text("minion_key"))
	if len(same) > 0 {
		if other := explain(t, ring, session, c, "other"); len(other) > 0 {
			t.Errorf("with the same key stored:\n%s\nwith another:\n%s", strings.Join(same, "\n"),
				strings.Join(other, "\n"))
		}
	}
	for _, step := range c.Sub("steps") {
		minionStep(t, ring, session, c, step.On(t))
	}
}

// explain plays the master's side and returns what differs when stored is the key of the id before.
func explain(t *testing.T, ring keyring, session string, c *vectors.Case, stored string) (wrong []string) {
	t.Helper()
	r := newRig(t, rigOptions{ring: ring, master: c.Text("master_key"), session: session,
		signIn: masterOptions(t, ring, c)})
	r.handler.clear = func(c *Command) (any, error) {
		if c.Name == "ping" {
			return asMap(t, decoded(t, c.Load.Marshal())), nil
		}
		return nil, ErrUnknownCommand
	}
	layOutKeys(t, r, c, stored)
	for _, step := range c.Sub("steps") {
		operator(t, r, c, step.Text("step"))
		wrong = append(wrong, explainStep(t, r, c, step.On(t))...)
	}
	return wrong
}

func masterOptions(t *testing.T, ring keyring, c *vectors.Case) SignInOptions {
	t.Helper()
	o := SignInOptions{Connected: func() []string { return []string{"a", "b", c.Text("minion_id")} }}
	rules := &pki.Autosign{}
	for k, v := range c.Object("master_opts").All() {
		switch k {
		case "auto_accept":
			rules.AcceptAll = v.(bool)
		case "autosign_file":
			rules.File = ruleFile(t, "web*\n")
		case "autoreject_file":
			rules.RejectFile = ruleFile(t, "web2\n")
		case "autosign_grains_dir":
			rules.GrainsDir = grainRules(t, c)
		case "open_mode":
			o.Policy.OpenMode = v.(bool)
		case "publish_port":
			o.PublishPort = int(v.(int64))
		case "max_minions":
			o.Policy.MaxMinions = int(v.(int64))
			if strings.Contains(c.Name, "unknown minion") || strings.HasSuffix(c.Name, ", full") {
				o.Connected = func() []string { return []string{"a", "b", "d"} }
			}
		case "master_sign_pubkey":
			o.Signing = ring[c.Text("master_sign_key")]
		case "auth_mode": // not offered
		default:
			t.Errorf("master option %v is not understood", k)
		}
	}
	o.Policy.Rules = rules
	return o
}

func ruleFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// grainRules makes a directory of rules that the grains of the request satisfy.
func grainRules(t *testing.T, c *vectors.Case) string {
	t.Helper()
	dir := t.TempDir()
	load := asMap(t, c.Sub("steps")[0].Object("request").Value("load"))
	for name, value := range asMap(t, load.Value("autosign_grains")).All() {
		must(t, os.WriteFile(filepath.Join(dir, name.(string)), []byte(data.Str(value)+"\n"), 0o600))
	}
	return dir
}

func layOutKeys(t *testing.T, r *rig, c *vectors.Case, stored string) {
	t.Helper()
	for _, state := range pki.States() {
		list, ok := c.Object("keys_before").Value(state.Dir()).([]any)
		if !ok {
			t.Fatalf("no folder %s", state.Dir())
		}
		for _, id := range list {
			path := filepath.Join(r.pki.Path(), state.Dir(), id.(string))
			switch {
			case strings.Contains(c.Name, "path is a directory"):
				must(t, os.Mkdir(path, 0o755))
			case strings.Contains(c.Name, "corrupt accepted key"):
				must(t, os.WriteFile(path, []byte("garbage"), 0o644))
			case strings.Contains(c.Name, "trailing newline"):
				must(t, os.WriteFile(path, []byte(r.ring.pub(stored)+"\n"), 0o644))
			default:
				must(t, r.pki.Create(state, id.(string), r.ring.pub(stored)))
			}
		}
	}
}

// operator does what the name of a step says of the keys.
func operator(t *testing.T, r *rig, c *vectors.Case, step string) {
	t.Helper()
	switch step {
	case "accepted":
		must(t, r.pki.Move(c.Text("minion_id"), pki.Pending, pki.Accepted))
	case "key deleted, pending again":
		must(t, r.pki.Delete(pki.Accepted, c.Text("minion_id")))
	case "sign in", "send", "new", "still pending", "accepted, with token", "first", "again":
	default:
		t.Errorf("step %q is not understood", step)
	}
}

func explainStep(t *testing.T, r *rig, c, step *vectors.Case) (wrong []string) {
	t.Helper()
	step.Only("step", "token_plain", "request_frame", "request", "reply_frame", "reply",
		"signed_load", "signature_over_load_is", "decrypted_aes", "decrypted_token", "events_fired",
		"keys_after", "client_result", "client_error", "no_reply_because",
		"minion_knew_master_key_before", "minion_stores_master_key", "tampered_reply_frame", "change")
	r.events = nil
	reply := decoded(t, r.ask(step.Bytes("request_frame")))
	diff, differs := differs[strings.TrimLeft(c.Name, "0123456789 ")]
	switch {
	case differs && diff.reply != nil:
		if !data.Equal(reply, diff.reply) {
			t.Errorf("reply %s, want %s (%s)", data.Repr(reply), data.Repr(diff.reply), diff.why)
		}
	case differs:
	case step.Map.Value("reply_frame") == nil:
		t.Errorf("the original sends no reply, and the table of differences does not say what ours is: %s", data.Repr(reply))
	default:
		wrong = compareReply(t, r, c, step, reply)
	}
	if !differs || step.Map.Value("reply_frame") != nil {
		wrong = append(wrong, compareEvents(t, r, step)...)
	}
	for _, state := range pki.States() {
		want, _ := step.Object("keys_after").Value(state.Dir()).([]any)
		if got := folder(t, r, state); !data.Equal(got, want) &&
			!strings.HasPrefix(diff.why, "the original sends no reply, and leaves") {
			wrong = append(wrong, state.Dir()+" holds "+data.Repr(got)+", want "+data.Repr(want))
		}
	}
	return wrong
}

func folder(t *testing.T, r *rig, state pki.State) []any {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(r.pki.Path(), state.Dir()))
	must(t, err)
	names := []any{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func compareEvents(t *testing.T, r *rig, step *vectors.Case) (wrong []string) {
	t.Helper()
	events := step.Sub("events_fired")
	if len(events) != len(r.events) {
		return []string{data.Repr(r.events) + " events"}
	}
	for i, e := range events {
		if want := e.On(t).Object("data"); e.On(t).Text("tag") != "salt/auth" ||
			!data.Equal(r.events[i], want) {
			wrong = append(wrong, "event "+data.Repr(r.events[i])+", want "+data.Repr(want))
		}
	}
	return wrong
}

// compareReply compares a reply with the original's, both opened.
func compareReply(t *testing.T, r *rig, c, step *vectors.Case, reply any) (wrong []string) {
	t.Helper()
	want := decoded(t, step.Bytes("reply_frame"))
	golden, ok := want.(*data.Map)
	got, same := reply.(*data.Map)
	if !ok || !same {
		return unequal("reply", reply, want)
	}
	master := r.ring[c.Text("master_key")]
	if _, signed := golden.Value("load").([]byte); signed {
		if golden.Len() != 3 || !slices.Equal(got.Keys(), golden.Keys()) {
			return unequal("keys", got.Keys(), golden.Keys())
		}
		body := rawField(got, "load")
		if err := master.Public().Verify(body, rawField(got, "sig"), crypto.SHA1Sign); err != nil {
			return []string{"the signature of the reply: " + err.Error()}
		}
		inner, err := payload.Unmarshal(body, payload.WireLimits())
		if err != nil {
			return []string{"the signed reply: " + err.Error()}
		}
		got, golden = asMap(t, inner), asMap(t, decoded(t, rawField(golden, "load")))
	}
	if !golden.Has("aes") {
		return unequal("reply", got, golden)
	}
	return compareAcceptance(t, r, c, got, golden)
}

func unequal(what string, got, want any) []string {
	if data.Equal(got, want) {
		return nil
	}
	return []string{what + " is " + data.Repr(got) + ", want " + data.Repr(want)}
}

func compareAcceptance(t *testing.T, r *rig, c *vectors.Case, got, golden *data.Map) (wrong []string) {
	t.Helper()
	minion := r.ring[c.Text("minion_key")]
	open := func(m *data.Map, name string) string {
		text, err := minion.Decrypt(rawField(m, name), crypto.OAEPSHA1)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	own, err := r.secrets.Session(c.Text("minion_id"))
	must(t, err)
	if s := open(got, "session"); s != own.Key() {
		wrong = append(wrong, "session is "+s)
	}
	got = got.Clone()
	got.Delete("session") // which 3006.0 does not send, and its minions ignore
	wrong = append(wrong, unequal("order of the fields", got.Keys(), golden.Keys())...)
	for k, want := range golden.All() {
		switch k {
		case "aes", "token":
			wrong = append(wrong, unequal(k.(string), open(got, k.(string)), open(golden, k.(string)))...)
		default: // the signatures are deterministic
			wrong = append(wrong, unequal(k.(string), got.Value(k), want)...)
		}
	}
	return wrong
}

// minionStep gives a reply of the original to a client, and compares what it makes of that.
func minionStep(t *testing.T, ring keyring, session string, c, step *vectors.Case) {
	t.Helper()
	if !step.Has("client_result") && !step.Has("client_error") {
		return // the file tells of the master's side alone
	}
	keys := &memoryKeys{}
	golden := asMap(t, step.Object("request").Value("load"))
	if step.Bool("minion_knew_master_key_before") {
		keys.master = ring.pub(knownMaster(t, ring, step, golden))
	}
	if name, ok := c.Map.Value("master_sign_key").(string); ok {
		keys.signing = ring.pub(name)
	}
	reply := step.Bytes("reply_frame")
	if step.Has("tampered_reply_frame") {
		reply = step.Bytes("tampered_reply_frame")
	}
	var sent []byte
	client := newTestClient(t, ring[c.Text("minion_key")], keys, c.Text("minion_id"),
		wire(func(_ context.Context, body []byte) ([]byte, error) {
			sent = body
			return reply, nil
		}), minionOptions(t, c, golden))
	client.token = step.Text("token_plain")
	client.nonce = func() string { return golden.Text("nonce") }
	knew := keys.master
	creds, err := client.SignIn(t.Context())
	compareSignIn(t, ring, asMap(t, asMap(t, decoded(t, sent)).Value("load")), golden,
		step.Text("token_plain"), knew)
	compareDecision(t, session, c, step, creds, err)
	if stores := step.Bool("minion_stores_master_key"); (keys.master != "") != stores && err == nil {
		t.Errorf("stored key of the master: %q, want one: %v", keys.master, stores)
	}
	if err == nil && !crypto.SameKey(keys.master, ring.pub(c.Text("master_key"))) {
		t.Error("another key than the master's is stored")
	}
	if err != nil && keys.master != knew {
		t.Error("a sign-in that failed has changed the stored key of the master")
	}
}

// knownMaster finds out which key of a master the minion had stored: it can decrypt the token.
func knownMaster(t *testing.T, ring keyring, step *vectors.Case, load *data.Map) string {
	t.Helper()
	for name, key := range ring {
		if plain, err := key.Decrypt(rawField(load, "token"), crypto.OAEPSHA1); err == nil &&
			string(plain) == step.Text("token_plain") {
			return name
		}
	}
	t.Fatal("no key decrypts the token of the request")
	return ""
}

func minionOptions(t *testing.T, c *vectors.Case, load *data.Map) ClientOptions {
	t.Helper()
	o := ClientOptions{AuthTries: 1}
	for k, v := range c.Object("minion_opts").All() {
		switch k {
		case "verify_master_pubkey_sign":
			o.VerifySigned = v.(bool)
		case "always_verify_signature":
			o.AlwaysVerify = v.(bool)
		case "master_finger":
			o.Fingerprint = v.(string)
		case "hash_type":
			o.HashType = v.(string)
		case "open_mode":
			o.OpenMode = v.(bool)
		case "rejected_retry": // package minion
		default:
			t.Errorf("minion option %v is not understood", k)
		}
	}
	o.AutosignGrains = func() *data.Map {
		grains, _ := load.Value("autosign_grains").(*data.Map)
		return grains
	}
	return o
}

// compareSignIn compares a request with the original's: it has all of that, and names the
// algorithms.
func compareSignIn(t *testing.T, ring keyring, got, golden *data.Map, token, master string) {
	t.Helper()
	for k, want := range golden.All() {
		if k == "token" {
			for _, key := range ring {
				if crypto.SameKey(key.Public().PEM(), master) {
					if plain, err := key.Decrypt(rawField(got, "token"),
						crypto.OAEPSHA1); err != nil || string(plain) != token {
						t.Errorf("token %q, %v, want %q", plain, err, token)
					}
				}
			}
		} else if !data.Equal(got.Value(k), want) {
			t.Errorf("request has %v = %s, want %s", k, data.Repr(got.Value(k)), data.Repr(want))
		}
	}
	if got.Len() != golden.Len()+3 || got.Text("enc_algo") != crypto.OAEPSHA1 ||
		got.Text("sig_algo") != crypto.SHA1Sign || got.Value(brineField) != true {
		t.Errorf("fields of the request: %v, of the original's: %v", got.Keys(), golden.Keys())
	}
}

func compareDecision(t *testing.T, session string, c, step *vectors.Case, creds *Credentials, err error) {
	t.Helper()
	want := wantedError(t, c, step)
	if want != nil {
		if !errors.Is(err, want) {
			t.Errorf("the client says %v, want %v", err, want)
		}
		return
	}
	if err != nil {
		t.Fatalf("the client refuses the reply: %v", err)
	}
	result := step.Object("client_result")
	if creds.Shared.Key() != result.Text("aes") || creds.Shared.Key() != session ||
		int64(creds.PublishPort) != result.Value("publish_port") {
		t.Errorf("credentials are %v, want %s", creds, data.Repr(result))
	}
	if creds.Version != 2 || creds.Session != nil {
		t.Errorf("version %d with a master that sends no session key", creds.Version)
	}
}

// wantedError returns the error that stands for what the original minion did, nil when it signed
// in.
func wantedError(t *testing.T, c, step *vectors.Case) error {
	t.Helper()
	if !step.Has("client_error") {
		switch step.Value("client_result") {
		case "full":
			return ErrFull
		case false:
			return ErrBadReply
		case "retry":
			if c.Object("minion_opts").Value("rejected_retry") == true {
				return ErrRejected
			}
			return ErrPending
		}
		return nil
	}
	e := step.Object("client_error")
	switch e.Text("message") {
	case "77":
		return ErrRejected
	case "42":
		return ErrFingerprint
	case "Invalid master key":
		return ErrMasterKey
	case "Invalid signature", "Invalid nonce":
		return ErrBadReply
	}
	t.Errorf("error %s is not understood", data.Repr(e))
	return nil
}
