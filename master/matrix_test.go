package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// What a rightful request of a command does, which one in another's name must not.
const (
	stores = "stores" // changes files, jobs or what was published
	fires  = "fires"  // makes events
	reads  = "reads"  // is answered with what only its minion may know
	open   = "open"   // is answered to every minion alike
	never  = "never"  // is refused whoever asks
)

// marker stands in everything that only the victim may know.
const marker = "MARKER-OF-THE-VICTIM"

// matrixRow is a request of web1 that a command takes, and what it does.
type matrixRow struct {
	does string
	load *data.Map // without cmd and id
	jid  bool      // the jid of the world's job goes in
}

// matrix has a row for each encrypted command. A command without a row fails the tests below.
func matrix() map[string]matrixRow {
	file := data.NewMap("path", "top.sls", "saltenv", "base", "loc", int64(0))
	peer := data.NewMap("fun", "test.ping", "arg", []any{}, "tgt", "db1", "tgt_type", "glob", "ret",
		"", "tmo", int64(0), "form", "clean")
	return map[string]matrixRow{
		"_return": {does: stores,
			load: data.NewMap("fun", "test.ping", "fun_args", []any{}, "return", true,
				"retcode", int64(0), "success", true), jid: true},
		"_minion_event": {does: fires,
			load: data.NewMap("tag", "my/tag", "data", data.NewMap("a", "b"))},
		"_pillar": {does: stores,
			load: data.NewMap("grains", data.NewMap("number", int64(1)), "saltenv", "base", "ver", "2")},
		"_mine": {does: stores,
			load: data.NewMap("data", data.NewMap("fresh", int64(1)), "clear", false)},
		"_mine_get": {does: reads,
			load: data.NewMap("tgt", "*", "fun", "secret", "tgt_type", "glob")},
		"_mine_delete":   {does: stores, load: data.NewMap("fun", "own")},
		"_mine_flush":    {does: stores, load: data.NewMap()},
		"minion_pub":     {does: stores, load: peer},
		"minion_publish": {does: stores, load: peer},
		"pub_ret":        {does: reads, load: data.NewMap(), jid: true},
		"minion_runner":  {does: stores, load: data.NewMap("fun", "test.arg", "arg", []any{marker})},
		"revoke_auth":    {does: stores, load: data.NewMap("preserve_minion_cache", false)},
		"_syndic_return": {does: never,
			load: data.NewMap("load", []any{data.NewMap("id", "web1", "fun", "test.ping",
				"return", data.NewMap("db1", true))}), jid: true},
		"verify_minion": {does: open, load: data.NewMap("id_", "web1", "token", "x")},
		"_master_tops":  {does: open, load: data.NewMap("opts", data.NewMap())},
		"_ext_nodes":    {does: open, load: data.NewMap("opts", data.NewMap())},
		"_master_opts":  {does: open, load: data.NewMap()},
		"_file_recv": {does: stores,
			load: data.NewMap("path", []any{"pushed"}, "loc", int64(0), "data", "abc", "size", int64(3))},
		"_serve_file":          {does: open, load: file},
		"_file_find":           {does: open, load: file},
		"_file_hash":           {does: open, load: file},
		"_file_hash_and_stat":  {does: open, load: file},
		"_file_list":           {does: open, load: file},
		"_file_list_emptydirs": {does: open, load: file},
		"_dir_list":            {does: open, load: file},
		"_symlink_list":        {does: open, load: file},
		"_file_envs":           {does: open, load: data.NewMap()},
	}
}

// A world is a master with a request port on loopback: web1 is the victim, web2 the attacker, both
// with an accepted key.
type world struct {
	*bench
	t       *testing.T
	out     transport.Requester
	events  *eventbus.Subscription
	jid     job.ID
	victim  *crypto.PrivateKey
	mallory *crypto.PrivateKey
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, victim: vectorKey(t, "web1"), mallory: vectorKey(t, "web2")}
	w.bench = newBench(t, func(c *config.Master) {
		c.MinimumAuthVersion, c.FileRecv, c.FileRecvMaxSize = 0, true, 1
		c.Peer = data.NewMap("web1", []any{`test\..*`})
		c.PeerRun = c.Peer
	}, "web1", "db1")
	must(t, w.keys.Put(pki.Accepted, "web2", w.mallory.Public().PEM()))
	w.listen(t)
	w.out = w.socket.out
	w.furnish()
	w.events = w.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	t.Cleanup(w.events.Close)
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// furnish gives the victim what others must not read or change. It has proved itself from another
// host.
func (w *world) furnish() {
	must(w.t, w.parts.data.save("web1", data.NewMap("g", marker), data.NewMap("p", marker)))
	mined := func(id string, values *data.Map) {
		raw, err := payload.MarshalBin(values)
		must(w.t, err)
		must(w.t, w.parts.data.bank.Store(mine.Bank(id), "mine", raw))
	}
	mined("web1", data.NewMap("own", marker))
	mined("db1", data.NewMap("secret", data.NewMap("__data__", marker, "__saltmine_acl__", int64(1),
		"allow_tgt", "web1")))
	w.jid = job.NewID(time.Now().UTC())
	w.publish(w.t, []any{"web1", "db1"}, "list", w.jid)
	must(w.t, newOwners(w.cfg.CacheDir).set(w.jid, "web1"))
	raw, err := payload.MarshalBin(returnOf("db1", w.jid, marker))
	must(w.t, err)
	_, err = w.jobs.SaveReturn(w.t.Context(), w.jid,
		&returners.Return{Minion: "db1", Load: raw, Received: time.Now()})
	must(w.t, err)
	w.parts.presence.note("web1", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)})
}

// state is all that lasts: files, jobs with their returns, and what was published.
func (w *world) state() string {
	var b strings.Builder
	for _, dir := range []string{w.cfg.CacheDir, w.cfg.PKIDir} {
		must(w.t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "sessions" {
				return err
			}
			content, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %q\n", path, content)
			return err
		}))
	}
	for _, id := range w.jobs.all() {
		found, err := w.jobs.Returns(w.t.Context(), id)
		must(w.t, err)
		fmt.Fprintf(&b, "job %s %d returns\n", id, len(found))
	}
	fmt.Fprintf(&b, "%d publications", len(w.wire.messages()))
	return b.String()
}

// fired returns the tags of the events since the last call.
func (w *world) fired() (tags []string) {
	w.t.Helper()
	must(w.t, w.bus.Fire("end", data.NewMap()))
	for e := range w.events.All(w.t.Context()) {
		if e.Tag == "end" {
			return tags
		}
		tags = append(tags, e.Tag)
	}
	return tags
}

// A letter is an encrypted request as it is made up.
type letter struct {
	version int
	outer   string // the id outside
	key     *crypto.Crypticle
	load    *data.Map
}

func (w *world) bytes(l letter) []byte {
	w.t.Helper()
	load := l.load.Clone()
	load.Set("nonce", fmt.Sprintf("%032x", time.Now().UnixNano()))
	load.Set("ts", time.Now().Unix())
	plain, err := payload.Marshal(load)
	must(w.t, err)
	outer := data.NewMap("enc", "aes", "load", l.key.Seal(plain, ""), "version", int64(l.version))
	if l.version >= 3 {
		outer.Set("id", l.outer)
	}
	body, err := payload.Marshal(outer)
	must(w.t, err)
	return body
}

// ask sends a message over the socket and returns the reply, with what the key opens of it.
func (w *world) ask(body []byte, key *crypto.Crypticle) []byte {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	reply, err := w.out.Do(ctx, body)
	must(w.t, err)
	if blob, ok := payload.Bytes(reply); ok {
		if plain, err := key.Open(blob, ""); err == nil {
			return append(reply, plain...)
		}
	}
	return reply
}

func token(t *testing.T, key *crypto.PrivateKey) []byte {
	t.Helper()
	tok, err := key.EncryptX931([]byte("salt"))
	must(t, err)
	return tok
}

func (w *world) session(id string) *crypto.Crypticle {
	w.t.Helper()
	key, err := w.parts.secrets.Session(id)
	must(w.t, err)
	return key
}

// request returns the load of a row in the name of an id.
func (w *world) request(cmd string, row matrixRow, id string) *data.Map {
	load := data.NewMap("cmd", cmd, "id", id)
	load.Update(row.load)
	if row.jid {
		load.Set("jid", string(w.jid))
	}
	return load
}

// forgeries are requests of web2 in the name of web1.
func (w *world) forgeries(cmd string, row matrixRow) map[string]letter {
	own := token(w.t, w.mallory)
	all := map[string]letter{}
	tokens := map[string]any{"own token": own, "junk": bytes.Repeat([]byte{0x5a}, len(own)),
		"short junk": []byte("x"), "empty": []byte{}, "null": nil,
		"list": []any{own}, "text": "salt", "number": int64(1)}
	for name, tok := range tokens {
		load := w.request(cmd, row, "web1")
		load.Set("tok", tok)
		for version := range 3 {
			all[fmt.Sprintf("version %d, %s", version, name)] = letter{version,
				"", w.parts.secrets.Shared(), load}
		}
		all["version 3, "+name] = letter{3, "web2", w.session("web2"), load}
		all["version 3, id of the victim outside, "+name] = letter{3, "web1", w.session("web2"), load}
		all["version 3 under the shared key, "+name] = letter{3, "web1", w.parts.secrets.Shared(), load}
	}
	none := w.request(cmd, row, "web1")
	for version := range 3 {
		all[fmt.Sprintf("version %d, no token", version)] = letter{version,
			"", w.parts.secrets.Shared(), none}
	}
	all["version 3, no token"] = letter{3, "web2", w.session("web2"), none}
	return all
}

// rightful is a request of web1 itself.
func (w *world) rightful(cmd string, row matrixRow, version int) letter {
	load := w.request(cmd, row, "web1")
	load.Set("tok", token(w.t, w.victim))
	if version < 3 {
		return letter{version, "", w.parts.secrets.Shared(), load}
	}
	return letter{version, "web1", w.session("web1"), load}
}

// TestEveryCommandHasARow fails for a command that was added without a row in the matrix.
func TestEveryCommandHasARow(t *testing.T) {
	b, rows := newBench(t, nil, "web1"), matrix()
	for name, cmd := range b.requests.encrypted {
		row, ok := rows[name]
		if !ok {
			t.Errorf("command %s has no row in the matrix of commands and proofs", name)
		}
		if changes := row.does == stores || row.does == fires; changes && !cmd.effect && name != "_pillar" {
			t.Errorf("command %s changes something and is done again for the same bytes", name)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("the matrix has a row for %s, which is no command", name)
	}
}

// TestCVE2024_38822 sends each command in the name of another minion, with every kind of proof that
// proves something else (also CVE-2013-4439 and, for old versions, CVE-2025-62349): nothing is
// stored, fired or read. The minion itself is then served.
func TestCVE2024_38822(t *testing.T) {
	for cmd, row := range matrix() {
		t.Run(cmd, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			for name, l := range w.forgeries(cmd, row) {
				reply := w.ask(w.bytes(l), l.key)
				if bytes.Contains(reply, []byte(marker)) {
					t.Errorf("%s: reads %q", name, reply)
				}
				if tags := w.fired(); len(tags) > 0 {
					t.Errorf("%s: fires %v", name, tags)
				}
				if after := w.state(); after != before {
					t.Fatalf("%s: the state was\n%s\nand is\n%s", name, before, after)
				}
			}
			w.serve(cmd, row, before)
		})
	}
}

// serve expects a rightful request to do what its row says.
func (w *world) serve(cmd string, row matrixRow, before string) {
	w.t.Helper()
	l := w.rightful(cmd, row, 3)
	reply := w.ask(w.bytes(l), l.key)
	tags, changed := w.fired(), w.state() != before
	does := map[bool]string{true: stores}[changed]
	switch {
	case changed:
	case len(tags) > 0:
		does = fires
	case bytes.Contains(reply, []byte(marker)):
		does = reads
	}
	want := map[string]string{stores: stores, fires: fires, reads: reads}[row.does]
	if does != want {
		w.t.Errorf("%s of the minion itself %s, reply %q, events %v, want that it %s", cmd, does,
			reply, tags, row.does)
	}
}

// TestCVE2024_38823 sends the same bytes of a minion three times: commands that change something do
// it once, also when what they changed was changed again meanwhile.
func TestCVE2024_38823(t *testing.T) {
	rows := matrix()
	for name, cmd := range newBench(t, nil, "web1").requests.encrypted {
		if !cmd.effect {
			continue
		}
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s/version %d", name, version), func(t *testing.T) {
				w := newWorld(t)
				before := w.state()
				l := w.rightful(name, rows[name], version)
				body := w.bytes(l)
				w.ask(body, l.key)
				if tags := w.fired(); w.state() == before && len(tags) == 0 &&
					rows[name].does != never && rows[name].does != reads {
					t.Errorf("the first of them does nothing")
				}
				must(t, errors.Join(os.RemoveAll(filepath.Join(w.cfg.CacheDir, "minions")),
					w.keys.Put(pki.Accepted, "web1", w.victim.Public().PEM())))
				meanwhile := w.state()
				for range 2 {
					w.ask(body, l.key)
				}
				if after := w.state(); after != meanwhile {
					t.Errorf("the state was\n%s\nand is\n%s", meanwhile, after)
				}
				if tags := w.fired(); len(tags) > 0 {
					t.Errorf("events %v", tags)
				}
			})
		}
	}
}

// TestCVE2025_62349 speaks old versions to a master with its usual settings.
func TestCVE2025_62349(t *testing.T) {
	w := newWorld(t)
	w.server.SetAdmission(admission(config.DefaultMaster()))
	before := w.state()
	for cmd, row := range matrix() {
		for version := range 3 {
			l := w.rightful(cmd, row, version)
			if reply := w.ask(w.bytes(l), l.key); !bytes.Contains(reply, []byte("bad load")) ||
				bytes.Contains(reply, []byte(marker)) {
				t.Errorf("%s of version %d: reply %q", cmd, version, reply)
			}
		}
	}
	if after, tags := w.state(), w.fired(); after != before || len(tags) > 0 {
		t.Errorf("the state was\n%s\nand is\n%s\nevents %v", before, after, tags)
	}
}
