package master

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// commands are all that a master does for strangers and for minions. What is not here is no
// command; a new one is added on purpose.
var commands = struct{ clear, encrypted []string }{
	clear: []string{"_auth", "ping", "publish", "publish_batch", "stop_batch", "mk_token",
		"get_token", "runner", "wheel", "job_returns", "batch_state"},
	encrypted: []string{"_return", "_minion_event", "_pillar", "_master_opts", "_mine", "_mine_get",
		"_mine_delete", "_mine_flush", "_file_recv", "_serve_file", "_file_find", "_file_hash",
		"_file_hash_and_stat", "_file_list", "_file_list_emptydirs", "_dir_list",
		"_symlink_list", "_file_envs", "minion_pub", "minion_publish", "pub_ret", "minion_runner",
		"revoke_auth", "_syndic_return", "verify_minion", "_master_tops", "_ext_nodes"},
}

// methods returns the names of testdata/methods.txt in several spellings.
func methods(t *testing.T) []string {
	t.Helper()
	src, err := os.ReadFile("testdata/methods.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name := range strings.Lines(string(src)) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "#") {
			continue
		}
		bare := strings.Trim(name, "_")
		all = append(all, name, strings.ToUpper(name), strings.ToUpper(name[:1])+name[1:], bare,
			"_"+bare, "__"+bare, "__"+bare+"__", "_AESFuncs__"+bare, "_ClearFuncs__"+bare, " "+
				name, name+" ", name+"\x00", name+"\n", "self."+name, "masterapi."+name, name+"()")
	}
	if len(all) < 1000 {
		t.Fatalf("only %d names", len(all))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestCVE2020_11651 asks for every method that is not a command, clear and as an accepted minion:
// nothing is done, and the key of root is in no reply.
func TestCVE2020_11651(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.listen(t)
	for name := range b.requests.clear {
		if !slices.Contains(commands.clear, name) {
			t.Errorf("%q is a command for strangers", name)
		}
	}
	for name := range b.requests.encrypted {
		if !slices.Contains(commands.encrypted, name) {
			t.Errorf("%q is a command for minions", name)
		}
	}
	for _, name := range methods(t) {
		if !slices.Contains(commands.clear, name) {
			b.refusesClear(t, name)
		}
		if !slices.Contains(commands.encrypted, name) {
			b.refusesEncrypted(t, name)
		}
	}
	if len(b.jobs.all()) > 0 || len(b.wire.messages()) > 0 {
		t.Errorf("jobs %v, %d publications", b.jobs.all(), len(b.wire.messages()))
	}
}

func (b *bench) refusesClear(t *testing.T, name string) {
	t.Helper()
	body, err := payload.Marshal(data.NewMap("enc", "clear", "version", int64(3),
		"load", data.NewMap("cmd", name, "key", b.key, "user", "root",
			"tgt", "*", "tgt_type", "glob", "fun", "test.ping", "arg", []any{}, "jid", "", "ret", "",
			"id", "web1")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
	if err != nil || !data.Equal(got, data.NewMap()) {
		t.Errorf("clear %q: reply %s, %v", name, data.Repr(got), err)
	}
}

func (b *bench) refusesEncrypted(t *testing.T, name string) {
	t.Helper()
	raw, _ := payload.Marshal(data.NewMap("cmd", name, "id", "web1"))
	fields, _ := payload.ParseFields(raw, payload.WireLimits())
	_, err := b.requests.Encrypted(t.Context(),
		&channel.Command{Name: name, Load: fields, Version: 3,
			Caller: channel.Caller{ID: "web1", Proved: true}})
	if !errors.Is(err, channel.ErrUnknownCommand) {
		t.Errorf("encrypted %q: %v", name, err)
	}
	if reply := b.sealed(t, "web1", data.NewMap("cmd", name, "id", "web1")); !data.Equal(reply,
		data.NewMap()) && data.Str(reply) != "bad load" {
		t.Errorf("encrypted %q over the socket: reply %s", name, data.Repr(reply))
	}
}

// TestRootKeyIsInNoReply gives every command a load without credentials, and every encrypted one a
// rightful minion: the key of root is in no reply.
func TestRootKeyIsInNoReply(t *testing.T) {
	w := newWorld(t)
	for name := range w.requests.clear {
		for _, load := range []*data.Map{data.NewMap("cmd", name),
			data.NewMap("cmd", name, "user", "root", "key", "", "fun", "test.ping", "tgt", "*",
				"tgt_type", "glob", "arg", []any{}, "token", "x", "eauth", "pam")} {
			body, err := payload.Marshal(data.NewMap("enc", "clear", "version", int64(3), "load", load))
			must(t, err)
			if reply := w.ask(body, w.session("web1")); bytes.Contains(reply, []byte(w.key)) {
				t.Errorf("clear %s: reply %q", name, reply)
			}
		}
	}
	for name, row := range matrix() {
		if name == "revoke_auth" {
			continue // after which nothing is answered
		}
		l := w.rightful(name, row, 3)
		if reply := w.ask(w.bytes(l), l.key); bytes.Contains(reply, []byte(w.key)) ||
			bytes.Contains(reply, []byte("bad load")) {
			t.Errorf("%s: reply %q", name, reply)
		}
	}
}
