package testsalt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/testvault"
)

// TestMinionReadsVault checks that a minion gets tokens from its master, with its own policy and no
// other, for functions that it runs and for those in its pillar. No event shows a token.
func TestMinionReadsVault(t *testing.T) {
	v := testvault.Start(t)
	v.Allow("saltstack/minion/web1", "v1/app", "v2/data/app")
	v.Allow("saltstack/minion/db1", "v1/dir")
	dir := testsalt.Dir(t)
	m := pillarMaster(t, dir, map[string]string{
		"pillar/top.sls": "base:\n  'web*': [web]\n",
		"pillar/web.sls": "user: {{ salt['vault.read_secret']('v2/app', 'user') }}\n" +
			"pass: {{ salt['sdb.get']('sdb://mv/v1/app/password') }}\n",
	}, "vault: {url: '"+v.URL+"', auth: {method: token, token: 'sdb://tokens/v'},",
		"  policies: ['saltstack/minion/{minion}']}",
		"tokens: {driver: yaml, files: ['"+dir+"/srv/tokens']}", "mv: {driver: vault}",
		"peer_run: {'.*': [vault.generate_token]}", "ext_pillar: [{vault: {conf: path=v1/app, nesting_key: more}}]")
	write(t, filepath.Join(dir, "srv", "tokens"), "v: "+testvault.Root+"\n")
	starts, runs := m.Listen(t, "salt/minion/"), m.Listen(t, "salt/run/")
	minionWith(t, filepath.Join(dir, "n"), m.Address, "mv: {driver: vault}")
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	want := data.NewMap("user", "foo", "pass", "bar",
		"more", data.NewMap("user", "foo", "password", "bar", "n", int64(7)))
	if got := kept(t, m, "web1"); !data.Equal(got, want) {
		t.Errorf("the pillar is %s, want %s", data.Repr(got), data.Repr(want))
	}
	for range 2 {
		if got := returned(t, m, "vault.read_secret", "v1/app", "user"); got != "foo" {
			t.Errorf("vault.read_secret gives %s", data.Repr(got))
		}
		if got := returned(t, m, "sdb.get", "sdb://mv/v2/app/password"); got != "bar" {
			t.Errorf("sdb.get gives %s", data.Repr(got))
		}
		got := data.Str(returned(t, m, "vault.read_secret", "v1/dir/a"))
		if !strings.Contains(got, "403 Client Error: Forbidden") {
			t.Errorf("the secret of another gives %s", got)
		}
	}
	for _, body := range v.Created() {
		meta, _ := body["meta"].(map[string]any)
		if meta["saltstack-minion"] != "web1" {
			t.Errorf("a token for %v", meta)
		}
	}
	e := testsalt.AwaitEvent(t, runs, "salt/run/")
	for !strings.HasSuffix(e.Tag, "/ret") {
		e = testsalt.AwaitEvent(t, runs, "salt/run/")
	}
	if text := string(e.Data); !strings.Contains(text, "generate_token") || strings.Contains(text, "s.made") {
		t.Errorf("event %s", text)
	}
}
