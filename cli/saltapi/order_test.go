package saltapi

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/netapi"
)

// TestOrdersReachTheMaster logs in at a master, calls a wheel function with the session, and logs out.
func TestOrdersReachTheMaster(t *testing.T) {
	dir := testsalt.Dir(t)
	conf := fmt.Sprintf("root_dir: %s\nuser: %s\nsharedsecret: s3cret\nnetapi_enable_clients: [wheel]\n"+
		"external_auth: {sharedsecret: {ann: ['@wheel']}}\n", dir, userName()) + door
	file := filepath.Join(dir, "master")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMaster(dir, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RetPort, cfg.PublishPort = 0, 0
	testsalt.StartMaster(t, cfg)
	conf += fmt.Sprintf("ret_port: %d\npublish_port: %d\n", cfg.RetPort, cfg.PublishPort)
	open := func(gate *netapi.Gate, _ *netapi.Door) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, visit(r, gate)) }), nil
	}
	r := startIn(t, dir, conf, Options{Connect: func(Site) (Doors, error) { return Doors{Cherrypy: open}, nil }})
	address := r.awaitLog(t, `The salt-api is listening on (\S+) `)[1]
	res, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	want := "ann {'minions': [], 'minions_pre': [], 'minions_rejected': [], 'minions_denied': [], " +
		"'local': ['master.pem', 'master.pub']} ended"
	if got := sorted(string(text)); err != nil || got != sorted(want) {
		t.Errorf("got %s, %v\n%s", text, err, r.log())
	}
	r.stop()
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	if left, err := filepath.Glob(filepath.Join(cfg.TokenDir, "[0-9a-f]*")); err != nil || len(left) > 0 {
		t.Errorf("tokens of sessions outlive salt-api: %v, %v", left, err)
	}
}

// sorted puts the words of a text in order: that of the keys of a mapping does not count.
func sorted(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" {}[],", r) })
	return fmt.Sprint(len(words), strings.Join(words, " "))
}

// visit logs in, orders and logs out, and logs in once more.
func visit(r *http.Request, gate *netapi.Gate) string {
	from := netip.MustParseAddr("127.0.0.1")
	login := data.NewMap("eauth", "sharedsecret", "username", "ann", "password", "s3cret")
	session, err := gate.LogIn(r.Context(), login, from, "")
	if err != nil {
		return "login: " + err.Error()
	}
	answer, err := gate.Order(r.Context(), session.Caller(from), data.NewMap("client", "wheel", "fun", "key.list_all"))
	if err != nil {
		return "order: " + err.Error()
	}
	done, _ := answer.Items[0].(*data.Map).Value("data").(*data.Map)
	if err := gate.LogOut(session); err != nil {
		return "logout: " + err.Error()
	}
	state := "ended"
	if gate.Valid(session.Token.Value) {
		state = "goes on"
	}
	if open, err := gate.LogIn(r.Context(), login, from, ""); err != nil || !gate.Valid(open.Token.Value) {
		return "second login: " + fmt.Sprint(err)
	}
	return session.Token.User + " " + data.Repr(done.Value("return")) + " " + state
}
