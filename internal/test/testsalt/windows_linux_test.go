package testsalt

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testwine"
)

// TestWindowsMinion lets a minion on an emulated Windows obey our master: it runs commands, and
// writes a file from the file server.
func TestWindowsMinion(t *testing.T) {
	h := testwine.Start(t)
	cfg := MasterConfig(Dir(t))
	cfg.FileRoots = data.NewMap("base", []any{h.File(`C:\srv`)})
	h.Write(t, `C:\srv\web.sls`, "C:\\web\\app.ini:\n  file.managed:\n    - source: salt://app.ini\n"+
		"    - template: jinja\n    - makedirs: True\n")
	h.Write(t, `C:\srv\app.ini`, "id={{ grains.id }}\n")
	m := StartMaster(t, cfg)
	h.Write(t, testwine.Config+`\minion`, fmt.Sprintf("id: win\nmaster: 127.0.0.1\nmaster_port: %d\n"+
		"publish_port: %d\n", cfg.RetPort, cfg.PublishPort))
	ctx, stop := context.WithCancel(context.Background())
	cmd := h.Command(ctx, "salt-minion", "-c", testwine.Config, "-l", "warning")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = time.Second // programs of Wine may hold the pipes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("minion:\n%s", log.String())
		}
	}()

	order := windowsOrder(t, m.Client(t))
	const patience = 5 * time.Minute // the machine may be busy
	for end := time.Now().Add(patience); order("test.ping") != true; {
		if time.Now().After(end) {
			t.Fatalf("the minion does not answer within %s", patience)
		}
	}
	if v := fmt.Sprint(order("cmd.run", "ver")); !strings.Contains(v, "Microsoft Windows") {
		t.Errorf("cmd.run ver: %s", v)
	}
	for _, want := range []string{"{'diff': 'New file'}", "{}"} {
		ret, _ := order("state.apply", "web").(*data.Map)
		var state *data.Map
		for _, v := range ret.All() {
			state, _ = v.(*data.Map)
		}
		if state.Value("result") != true || data.Repr(state.Value("changes")) != want {
			t.Errorf("state.apply: %v, want changes %s", data.Repr(ret), want)
		}
	}
	if body := h.Read(t, `C:\web\app.ini`); body != "id=win\n" {
		t.Errorf("the file has %q", body)
	}
}

// windowsOrder returns a function that gives the minion win an order, and returns its return; nil if
// there is none yet.
func windowsOrder(t *testing.T, c *client.Local) func(fun string, args ...any) any {
	return func(fun string, args ...any) any {
		t.Helper()
		wait := 2 * time.Minute
		if fun == "test.ping" {
			wait = 2 * time.Second
		}
		job, err := c.Publish(t.Context(), client.Request{Target: "win", Kind: "list", Fun: fun, Arg: args,
			Timeout: wait})
		if err != nil {
			return nil // the key is not there yet
		}
		for r, err := range c.Results(t.Context(), job, client.Wait{Timeout: wait, Gather: 5 * time.Second}) {
			if err == nil && !r.Missing {
				return r.Value
			}
		}
		return nil
	}
}
