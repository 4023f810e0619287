package console_test

import (
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
)

// TestFleetPages tests the pages of minions, keys and rights with a real master and a real minion.
func TestFleetPages(t *testing.T) {
	b := open(t, "m1")
	b.logIn(t, "saltdev")
	pki := b.Master.Config.PKIDir
	mine := newKey(t)
	for _, name := range []string{"minions/away1", "minions_pre/new<1>", "minions_pre/new2", "minions_rejected/bad1"} {
		putKey(t, pki, name, mine)
	}
	putKey(t, pki, "minions_denied/away1", newKey(t))
	t.Run("minions", func(t *testing.T) { minions(t, b) })
	t.Run("minion", func(t *testing.T) { minion(t, b) })
	t.Run("pillar", func(t *testing.T) { pillar(t, b) })
	t.Run("rights", func(t *testing.T) { rightsOfAll(t, b) })
	t.Run("keys", func(t *testing.T) { keys(t, b) })
	t.Run("limited", func(t *testing.T) { limited(t, b) })
	b.logIn(t, "saltdev")
	t.Run("salt", func(t *testing.T) { pagesOfSalt(t, b) }) // what this master lacks is remembered for a while
}

func newKey(t *testing.T) string {
	t.Helper()
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	return key.Public().PEM()
}

func putKey(t *testing.T, pki, name, pem string) {
	t.Helper()
	path := filepath.Join(pki, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(pem), 0o600); err != nil {
		t.Fatal(err)
	}
}

func minions(t *testing.T, b *browser) {
	b.get(t, "/minions").want(t, 200, "1 of 2 connected", ">connected</span>", ">not connected</span>", ">less than a minute</span>",
		`href="/console/minions/m1"`, `href="/console/run?tgt=%2A&amp;tgt_type=glob"`, "data-live")
	got := b.get(t, "/minions?tgt=wa")
	got.want(t, 200, "0 of 1 connected", "away1", "tgt=%2Awa%2A")
	got.lacks(t, ">m1</a>")
	got = b.get(t, "/minions?connected=yes&grain=role,nosuch")
	got.want(t, 200, "1 of 2 connected", ">m1</a>", `<th scope="col">role</th>`, `<td data-th="role">web-m1</td>`, "3006.")
	got.lacks(t, "away1")
	b.get(t, "/minions?tgt=role:web-m1&tgt_type=grain&connected=no").want(t, 200, "away1")
	b.get(t, "/minions?tgt=L@m1&tgt_type=compound").want(t, 200, "1 of 1 connected")
	b.get(t, "/minions?tgt=m1,nosuch&tgt_type=list").want(t, 200, "1 of 1 connected")
	b.get(t, "/minions?tgt=ng1&tgt_type=nodegroup").want(t, 200, "1 of 1 connected")
	b.get(t, "/minions?tgt=<b>&q=x").want(t, 200, "No minion matches.", "&lt;b&gt;")
	b.get(t, "/minions?tgt=a:b&tgt_type=pillar").want(t, 400, "cannot be listed by a target of the kind pillar")
	b.get(t, "/minions?tgt=m1+or+(+I@a:b+)&tgt_type=compound").want(t, 400, "which could be found by trying")
	b.get(t, "/minions?tgt=m1%1cor%1fI@a:b&tgt_type=compound").want(t, 400, "which could be found by trying")
	for _, query := range []string{"tgt=secretpw:h*&tgt_type=pillar", "tgt=secretpw:h.*&tgt_type=pillar_pcre",
		"tgt=m1%1cand%1cI@secretpw:h*&tgt_type=compound"} {
		got := b.get(t, "/run?"+query)
		got.want(t, 200, "Which minions match cannot be shown: minions cannot be listed by their pillar")
		got.lacks(t, ">m1<")
	}
	b.get(t, "/minions?tgt=(&tgt_type=pcre").want(t, 400, "the target cannot be used")
	got = b.get(t, "/minions?after=away1")
	got.want(t, 200, ">m1</a>", "First page")
	got.lacks(t, ">away1</a>")
}

func minion(t *testing.T, b *browser) {
	b.get(t, "/minions/m1").want(t, 200, ">connected</span>", "Connected for", "127.0.0.1", `href="/console/jobs?minion=m1"`,
		`href="/console/run?tgt=m1&amp;tgt_type=list"`, ">saltversion:</span>", "data-live")
	got := b.get(t, "/minions/m1?filter=web-m1")
	got.want(t, 200, ">role:</span>")
	got.lacks(t, ">saltversion:</span>")
	b.get(t, "/minions/m1?filter=nosuchgrain").want(t, 200, "No grain and no value contains nosuchgrain.")
	b.get(t, "/minions/away1").want(t, 200, ">not connected</span>", "The master has no grains of this minion.")
	b.get(t, "/minions/awy1").want(t, 404, "There is no minion awy1", `<a href="/console/minions/away1">away1</a>`)
	b.get(t, "/minions/"+url.PathEscape("new<1>")).want(t, 404, "a key that is pending", "new&lt;1&gt;")
	got = b.post(t, "/minions/m1/grains")
	got.want(t, 200, "m1 collects its grains.")
	if got.path != "/console/minions/m1" {
		t.Errorf("after the refresh: %s", got.path)
	}
	b.post(t, "/minions/away1/grains").want(t, 504, "away1 does not answer.")
}

func pillar(t *testing.T, b *browser) {
	got := b.get(t, "/minions/m1?tab=pillar")
	got.want(t, 200, ">pub_key:</span>", ">secretpw:</span>", "••••••", "reveal=secretpw")
	got.lacks(t, "hidden<")
	got.lacks(t, "shown<")
	got = b.get(t, "/minions/m1?tab=pillar&show=yes")
	got.want(t, 200, ">secretpw:</span>")
	got.lacks(t, ">hidden<")
	got = b.get(t, "/minions/m1?tab=pillar&show=yes&reveal=secretpw")
	got.want(t, 200, ">hidden</span>", "Mask the value again")
	got.lacks(t, ">shown<")
	got = b.get(t, "/minions/m1?tab=pillar&filter=PUB")
	got.want(t, 200, ">pub_key:</span>")
	got.lacks(t, "secretpw:")
	b.get(t, "/minions/m1?tab=pillar&filter=hidden").want(t, 200, "No key contains hidden.")
	b.get(t, "/minions/away1?tab=pillar").want(t, 200, "The master has no pillar of this minion")
}

func rightsOfAll(t *testing.T, b *browser) {
	b.get(t, "/rights").want(t, 200, "You may run all functions on all minions", "You may run all runners", "You may call all wheel functions",
		"The session ends", ">have it</span>")
	b.get(t, "/rights?fun=cmd.run&tgt=m1").want(t, 200, ">Yes</span>")
}

func keys(t *testing.T, b *browser) {
	got := b.get(t, "/keys")
	got.want(t, 200, "pending (2)", "accepted (2)", "rejected (1)", "denied (1)", "new&lt;1&gt;", "new2", "The master's own key", "data-live")
	finger := between(t, got.body, `name="finger.new2" value=""`, `data-finger="`, `"`)
	other := strings.Replace(finger, finger[:2], "zz", 1)
	b.get(t, "/keys?finger.new2="+url.QueryEscape("local:\n    "+strings.ToUpper(finger))).want(t, 200, ">equal</span>")
	b.get(t, "/keys?finger.new2="+url.QueryEscape(other)).want(t, 200, ">different</span>")
	got = b.get(t, "/keys?q=*2&state=pending")
	got.want(t, 200, "new2")
	got.lacks(t, "new&lt;")
	b.get(t, "/keys?after=new<1>").want(t, 200, "No pending keys")
	b.get(t, "/keys?state=nosuch").want(t, 400, "Keys are pending, accepted, rejected or denied")

	fingers := fingersOf(t, b)
	key := func(id string) string { return fingers[id] + " " + id }
	for _, finger := range []string{"", other} {
		b.post(t, "/keys", "state", "pending", "act", "accept", "key", key("new<1>"), "key", finger+" new2").
			want(t, 409, "the fingerprint on the page is no longer that of the key of new2.")
	}
	b.get(t, "/keys").want(t, 200, "pending (2)")
	b.post(t, "/keys", "state", "pending", "act", "accept").want(t, 200, "No key was chosen.")
	b.post(t, "/keys", "state", "accepted", "act", "accept", "key", key("m1")).want(t, 400, "cannot be changed so")
	b.post(t, "/keys", "state", "pending", "act", "burn", "key", key("m1")).want(t, 400, "cannot be changed so")
	b.post(t, "/keys", "state", "pending", "act", "accept", "key", key("../m1")).want(t, 400, "A key cannot be changed")
	b.post(t, "/keys", "state", "pending", "act", "accept", "key", key("new*")).want(t, 200, "None of the chosen keys is pending any more.")
	b.post(t, "/keys", "state", "pending", "act", "accept", "key", key("new<1>"), "key", key("new2")).
		want(t, 200, "2 keys are accepted.", "pending (0)",
			"accepted (4)")
	b.post(t, "/keys", "state", "accepted", "act", "reject", "key", key("new2")).want(t, 200, "The key of new2 is rejected.", "rejected (2)")
	got = b.get(t, "/keys?state=denied")
	got.want(t, 200, "away1", "Accepted key", "data-confirm=\"Accept the new keys")
	old := between(t, b.get(t, "/keys?state=accepted&q=away1").body, "away1", `data-finger="`, `"`)
	if !strings.Contains(got.body, `<td class="finger full" data-th="Accepted key">`+old+"</td>") {
		t.Errorf("the accepted key %s is not beside the denied one:\n%s", old, got.body)
	}
	b.post(t, "/keys", "state", "denied", "act", "accept", "key", key("away1")).want(t, 200, "The key of away1 is accepted.", "denied (0)")
	b.post(t, "/keys", "state", "rejected", "act", "delete", "key", key("bad1"), "key", key("new2")).
		want(t, 200, "2 keys are deleted.", "rejected (0)")
}

// fingersOf returns the fingerprints of the keys of all pages by id; that of a denied key wins.
func fingersOf(t *testing.T, b *browser) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, state := range []string{"pending", "accepted", "rejected", "denied"} {
		for _, m := range keyField.FindAllStringSubmatch(b.get(t, "/keys?state="+state).body, -1) {
			all[html.UnescapeString(m[2])] = m[1]
		}
	}
	return all
}

var keyField = regexp.MustCompile(`name="key" value="([0-9a-f:]+) ([^"]+)"`)

// between returns the text after the last of some marks in a row, up to an end.
func between(t *testing.T, text string, marks ...string) string {
	t.Helper()
	end := marks[len(marks)-1]
	for _, mark := range marks[:len(marks)-1] {
		_, after, ok := strings.Cut(text, mark)
		if !ok {
			t.Fatalf("there is no %q in %s", mark, text)
		}
		text = after
	}
	text, _, _ = strings.Cut(text, end)
	return text
}

// limited may run test.* everywhere, cmd.run and grains.item os on m1, and two runners.
func limited(t *testing.T, b *browser) {
	b.post(t, "/logout")
	b.logIn(t, "limited").want(t, 200, "you lack the right <code>@runner</code> to <code>manage.fleet</code>")
	b.get(t, "/minions/m1").want(t, 200, "you lack the right", "The grains are not shown")
	b.get(t, "/minions/m1?tab=pillar").want(t, 200, "The pillar is not shown")
	b.post(t, "/minions/m1/grains").want(t, 403, "You lack the right to run saltutil.refresh_grains on m1.")
	b.get(t, "/keys").want(t, 200, "you lack the right <code>@wheel</code> to <code>key.list_all</code>")
	b.post(t, "/keys", "state", "accepted", "act", "delete", "key", " m1").want(t, 403, "You lack the right @wheel to key.delete_dict.")
	got := b.get(t, "/rights")
	got.want(t, 200, "<code>test.*</code> on all minions", "<code>cmd.run</code>, <code>grains.item</code> (with os)", "<code>m1</code>",
		"<code>jobs.list_jobs</code>, <code>jobs.list_job</code> among the runners", ">lack it</span>", ">have it</span>")
	for query, want := range map[string]string{
		"fun=test.ping":                          ">Yes</span>",
		"fun=cmd.run":                            ">No</span>",
		"fun=cmd.run&tgt=m1":                     ">Yes</span>",
		"fun=cmd.run&tgt=m*":                     ">It depends</span>",
		"fun=grains.item&tgt=m1":                 ">It depends</span>",
		"fun=state.apply&tgt=m1":                 ">No</span>",
		"fun=jobs.list_jobs&client=runner":       ">Yes</span>",
		"fun=manage.fleet&client=runner":         ">No</span>",
		"fun=key.list_all&client=wheel":          ">No</span>",
		"fun=cmd.run&tgt=a&tgt_type=pillar_pcre": "cannot be listed by a target",
	} {
		if got := b.get(t, "/rights?"+query); !strings.Contains(got.body, want) {
			t.Errorf("%s has no %q:\n%s", query, want, got.body)
		}
	}
}
