package master

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// admits asks for the session key of an id with a public key, in version 3, and reports whether it
// is given.
func (b *bench) admits(t *testing.T, id, pub string) bool {
	t.Helper()
	b.socket.nonces++
	nonce := fmt.Sprintf("%032x", b.socket.nonces)
	reply, _ := b.clear(t, data.NewMap("cmd", "_auth", "id", id, "pub", pub, "nonce", nonce)).(*data.Map)
	if sealed, ok := reply.Value("load").([]byte); ok { // signed
		inner, err := payload.Unmarshal(sealed, payload.WireLimits())
		must(t, err)
		reply, _ = inner.(*data.Map)
	}
	return reply.Has("aes")
}

// storedKeys are the ids for which a key is stored, in whatever state.
func (b *bench) storedKeys(t *testing.T) (ids []string) {
	t.Helper()
	for _, state := range pki.States() {
		names, err := filepath.Glob(filepath.Join(b.cfg.PKIDir, state.Dir(), "*"))
		must(t, err)
		ids = append(ids, names...)
	}
	return ids
}

// TestCVE2013_2228 signs in with keys that hide nothing at a master that accepts all comers: no
// session key is encrypted to them, and none is stored.
func TestCVE2013_2228(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.AutoAccept = true })
	b.listen(t)
	n := func(bits uint) *big.Int { return new(big.Int).SetBit(new(big.Int).Lsh(big.NewInt(3), bits-2), 0, 1) }
	for name, key := range map[string]*rsa.PublicKey{"exponent 1": {N: n(2048), E: 1},
		"exponent 3": {N: n(2048), E: 3}, "even exponent": {N: n(2048), E: 65538},
		"even modulus": {N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 65537},
		"1024 bits":    {N: n(1024), E: 65537}, "32768 bits": {N: n(32768), E: 65537}} {
		pkcs1 := x509.MarshalPKCS1PublicKey(key)
		pkix, err := x509.MarshalPKIXPublicKey(key)
		must(t, err)
		for _, block := range []*pem.Block{{Type: "RSA PUBLIC KEY", Bytes: pkcs1},
			{Type: "PUBLIC KEY", Bytes: pkix}} {
			if b.admits(t, "weak", string(pem.EncodeToMemory(block))) {
				t.Errorf("%s, %s: the session key is given", name, block.Type)
			}
		}
	}
	if ids := b.storedKeys(t); len(ids) > 0 {
		t.Errorf("stored %v", ids)
	}
	if !b.admits(t, "weak", vectorKey(t, "web1").Public().PEM()) {
		t.Error("a good key is refused")
	}
}

// TestCVE2017_12791 signs in with ids that are paths (also CVE-2017-14695) at a master that accepts
// all comers: no key is stored, here or elsewhere.
func TestCVE2017_12791(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.AutoAccept = true })
	b.listen(t)
	pub := vectorKey(t, "web1").Public().PEM()
	dir := filepath.Dir(b.cfg.PKIDir)
	// a file with a key that no operator accepted
	must(t, os.WriteFile(filepath.Join(b.cfg.PKIDir, "planted.pub"), []byte(pub), 0o600))
	before := whole(t, dir)
	for _, id := range append([]string{"../planted.pub", "../minions_pre/x", "x/../y", "/etc/x",
		"web1\x00/../x", "a\u202eb", "a\x1bb"}, badIDs...) {
		if b.admits(t, id, pub) {
			t.Errorf("%q gets the session key", id)
		}
	}
	if after := whole(t, dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
	if !b.admits(t, "web1", pub) || len(b.storedKeys(t)) != 1 {
		t.Errorf("a good id is refused, or more is stored: %v", b.storedKeys(t))
	}
}

// orders are what a caller with credentials may ask for.
func (b *bench) orders(t *testing.T, proof *data.Map) map[string]*data.Map {
	t.Helper()
	publish := b.with("*", "test.ping", proof)
	publish.Update(proof)
	all := map[string]*data.Map{
		"publish": publish,
		"runner": data.NewMap("cmd", "runner", "fun", "test.arg",
			"kwarg", data.NewMap("arg", []any{"x"}, "kwarg", data.NewMap())),
		"wheel":     data.NewMap("cmd", "wheel", "fun", "key.list_all"),
		"get_token": data.NewMap("cmd", "get_token"),
	}
	for _, load := range all {
		load.Update(proof)
	}
	return all
}

// did reports whether a reply is that of an order that was done.
func did(cmd string, reply any) bool {
	m, _ := reply.(*data.Map)
	if m == nil || m.Has("error") {
		return false
	}
	return cmd == "get_token" && m.Text("name") == "fred" || cmd == "publish" &&
		jidOf(reply) != nil || cmd != "publish" && m.Has("tag")
}

func allToFred(c *config.Master) {
	c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{".*", "@runner", "@wheel"}))
}

// TestCVE2020_11652 sends paths of files with the content of tokens in place of tokens: no order is
// executed with them, and no file is deleted.
func TestCVE2020_11652(t *testing.T) {
	b := newBench(t, allToFred, "web1")
	b.listen(t)
	tokens := filepath.Join(b.cfg.CacheDir, "tokens")
	good := data.NewMap("start", 1.0, "expire", float64(time.Now().Unix()+3600), "name", "fred",
		"eauth", "auto")
	must(t, b.parts.gate.Tokens().Add(good))
	raw, err := os.ReadFile(filepath.Join(tokens, good.Text("token")))
	must(t, err)
	outside := filepath.Join(filepath.Dir(b.cfg.CacheDir), strings.Repeat("a", 64))
	files := []string{outside, filepath.Join(tokens, "x"), filepath.Join(tokens, strings.Repeat("A", 64))}
	for _, f := range files {
		must(t, os.WriteFile(f, raw, 0o600))
	}
	for _, name := range []any{"../../" + filepath.Base(outside), outside, "x", "./x",
		"../tokens/" + good.Text("token"), strings.Repeat("A", 64), good.Text("token") +
			"\x00", good.Text("token") + "\n", "..", "", "../.root_key", []any{good.Text("token")},
		[]byte(good.Text("token") + "/"), nil} {
		for cmd, load := range b.orders(t, data.NewMap("token", name)) {
			if reply := b.clear(t, load); did(cmd, reply) {
				t.Errorf("%s with token %s: %s", cmd, data.Repr(name), data.Repr(reply))
			}
		}
	}
	for _, f := range files {
		if now, err := os.ReadFile(f); err != nil || !bytes.Equal(now, raw) {
			t.Errorf("%s: %v", f, err)
		}
	}
	b.doesAll(t, good.Text("token"))
}

// doesAll expects a token to be good for every order.
func (b *bench) doesAll(t *testing.T, token string) {
	t.Helper()
	for cmd, load := range b.orders(t, data.NewMap("token", token)) {
		if reply := b.clear(t, load); !did(cmd, reply) {
			t.Errorf("%s with a good token: %s", cmd, data.Repr(reply))
		}
	}
}

// TestCVE2021_3144 uses tokens that have just expired, each for the first time: no order is
// executed. A token that is still valid allows all.
func TestCVE2021_3144(t *testing.T) {
	b := newBench(t, allToFred, "web1")
	b.listen(t)
	add := func(seconds int64) string {
		m := data.NewMap("start", 1.0, "expire", float64(time.Now().Unix()+seconds), "name", "fred",
			"eauth", "auto")
		must(t, b.parts.gate.Tokens().Add(m))
		return m.Text("token")
	}
	for cmd := range b.orders(t, data.NewMap()) {
		for _, seconds := range []int64{0, -1, -3600} {
			if reply := b.clear(t, b.orders(t, data.NewMap("token", add(seconds)))[cmd]); did(cmd, reply) {
				t.Errorf("%s %d seconds after the end: %s", cmd, -seconds, data.Repr(reply))
			}
		}
	}
	if len(b.jobs.all()) > 0 || len(b.wire.messages()) > 0 {
		t.Errorf("jobs %v", b.jobs.all())
	}
	b.doesAll(t, add(3600))
}

// TestCVE2021_25282 calls the wheel functions of files and pillar with paths that lead out of their
// roots: nothing is read or written there.
func TestCVE2021_25282(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"srv/top.sls": "open", "secret": "SECRET-5f2b"})
	link(t, filepath.Join(dir, "secret"), filepath.Join(dir, "srv", "file"))
	link(t, "..", filepath.Join(dir, "srv", "up"))
	b := newBench(t, func(c *config.Master) {
		c.FileRoots = data.NewMap("base", []any{filepath.Join(dir, "srv")})
		c.PillarRoots = c.FileRoots
	}, "web1")
	b.listen(t)
	call := func(fun string, fields ...any) string {
		load := data.NewMap("cmd", "wheel", "fun", fun, "key", b.key, "user", "root")
		load.Update(data.NewMap(fields...))
		return data.Repr(b.clear(t, load))
	}
	before := whole(t, dir)
	for _, module := range []string{"file_roots.", "pillar_roots."} {
		for _, path := range []string{"../secret", "file",
			"up/secret", filepath.Join(dir, "secret"), "//" +
				filepath.Join(dir, "secret"), "x/../../secret", "top.sls\x00/../../secret",
			"../new", "up/new"} {
			for _, fun := range []string{"find", "read"} {
				if reply := call(module+fun, "path", path); strings.Contains(reply, "SECRET") ||
					strings.Contains(reply, "txt") {
					t.Errorf("%s%s %q: %s", module, fun, path, reply)
				}
			}
			if reply := call(module+"write", "path", path, "data", "evil"); strings.Contains(reply, "Wrote") {
				t.Errorf("%swrite %q: %s", module, path, reply)
			}
		}
	}
	if after := whole(t, dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
	if reply := call("file_roots.read", "path", "top.sls"); !strings.Contains(reply, "open") {
		t.Errorf("a file of the root: %s", reply)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "secret")); err != nil || string(text) != "SECRET-5f2b" {
		t.Errorf("the secret is %q, %v", text, err)
	}
}

// TestCVE2025_22238 gives and asks for mine functions whose names are paths: they are names, and no
// files.
func TestCVE2025_22238(t *testing.T) {
	b := newBench(t, nil, "web1", "db1")
	b.listen(t)
	names := []any{"../../../x", "../db1/mine", "/etc/x", "a/b", "..", ""}
	store := func(id string) *data.Map {
		values := data.NewMap("good", "yes")
		for _, name := range names {
			values.Set(name, "evil")
		}
		return data.NewMap("cmd", "_mine", "id", id, "data", values, "clear", false)
	}
	if reply := b.sealed(t, "web1", store("web1")); reply != true {
		t.Fatalf("reply %s", data.Repr(reply))
	}
	b.sealed(t, "db1", data.NewMap("cmd", "_master_opts", "id", "db1")) // makes its session key
	dir := filepath.Dir(b.cfg.CacheDir)
	before := whole(t, dir)
	for _, id := range badIDs {
		b.sealed(t, "web1", store(id))
	}
	for _, name := range names {
		b.sealed(t, "web1", data.NewMap("cmd", "_mine_get", "id", "web1", "tgt", "*", "tgt_type",
			"glob", "fun", name))
		b.sealed(t, "db1", data.NewMap("cmd", "_mine_delete", "id", "db1", "fun", name))
	}
	if after := whole(t, dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
	ask := data.NewMap("cmd", "_mine_get", "id", "db1", "tgt", "web1", "tgt_type", "glob", "fun", "good")
	if reply := b.sealed(t, "db1", ask); !data.Equal(reply, data.NewMap("web1", "yes")) {
		t.Errorf("the mine of web1: %s", data.Repr(reply))
	}
}

// TestCVE2025_22237 asks for a pillar with sources of the minion's own: no program runs for them.
func TestCVE2025_22237(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.listen(t)
	canary := filepath.Join(t.TempDir(), "canary")
	for _, ext := range []any{data.NewMap("git",
		[]any{"--upload-pack=touch " + canary + " master"}),
		data.NewMap("git", []any{"ext::sh -c touch% " + canary}),
		data.NewMap("cmd_yaml", "touch "+canary), data.NewMap("libvirt", []any{}),
		[]any{data.NewMap("cmd_json", "touch "+canary)}, "cmd_yaml", nil} {
		reply := b.sealed(t, "web1", data.NewMap("cmd", "_pillar", "id", "web1",
			"grains", data.NewMap(), "saltenv", "base", "pillarenv", "base", "ver", "2",
			"ext", ext, "pillar_override",
			data.NewMap("ext_pillar", []any{data.NewMap("cmd_yaml", "touch "+canary)})))
		if m, _ := reply.(*data.Map); !m.Has("pillar") {
			t.Errorf("ext %s: reply %s", data.Repr(ext), data.Repr(reply))
		}
		if _, err := os.Stat(canary); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("ext %s runs a program", data.Repr(ext))
		}
	}
}

// TestOneAddressCannotFillThePendingKeys signs in with more new ids than one address may bring.
func TestOneAddressCannotFillThePendingKeys(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.MaxPendingKeysPerAddress = 3 })
	b.listen(t)
	pub := vectorKey(t, "web1").Public().PEM()
	for i := range 6 {
		if b.admits(t, fmt.Sprint("m", i), pub) {
			t.Errorf("m%d was admitted", i)
		}
	}
	if ids, err := b.keys.List(pki.Pending); err != nil || len(ids) != 3 {
		t.Errorf("pending: %q, %v, want 3", ids, err)
	}
}
