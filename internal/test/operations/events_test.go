//go:build linux

package operations

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// cmdHear starts to listen to the event bus of the master.
func cmdHear(ts *testscript.TestScript, _ bool, _ []string) {
	s := of(ts)
	ctx, stop := context.WithCancel(context.Background())
	ts.Defer(stop)
	client, err := eventbus.Dial(ctx, eventbus.MasterSockets(ts.MkAbs("var/run/salt/master")),
		eventbus.ClientOptions{})
	ts.Check(err)
	ts.Defer(func() { client.Close() })
	heard := &lines{}
	s.heard = heard
	go func() {
		for {
			e, err := client.Next(ctx)
			if err != nil {
				return
			}
			body, _ := e.Map() // shown as it is
			fmt.Fprintf(heard, "%s %s\n", e.Tag, data.Repr(body))
		}
	}()
}

// cmdHeard waits until an event has arrived whose tag and body match.
func cmdHeard(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, args, 1, "heard PATTERN")
	re, heard := matcher(ts, args[0]), of(ts).heard
	match := func() bool { return re.MatchString(heard.String()) }
	switch {
	case neg && match():
		ts.Fatalf("heard:\n%s", heard.brief())
	case !neg && !until(match):
		ts.Fatalf("not heard; but:\n%s", heard.brief())
	}
}

// cmdNewMinion writes the configuration of one more minion into a directory named by its id.
func cmdNewMinion(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 1, "newminion ID LINE...")
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	text := ts.ReadFile("minion")
	text = strings.Replace(text, "id: w1", "id: "+args[0], 1)
	text = strings.Replace(text, "root_dir: "+ts.MkAbs("m"), "root_dir: "+filepath.Join(dir, "r"), 1)
	for _, line := range args[1:] {
		option, _, _ := strings.Cut(line, ":")
		text = without(text, option) + line + "\n"
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "minion"), []byte(text), 0o644))
}

// cmdAsk sends the master a request of an old protocol version, and waits for a reply that matches.
func cmdAsk(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "ask VERSION PATTERN")
	version, err := strconv.Atoi(args[0])
	ts.Check(err)
	body, err := payload.Marshal(data.NewMap("enc", "clear",
		"load", data.NewMap("cmd", "ping", "id", "probe"), "version", int64(version)))
	ts.Check(err)
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	r := zeromq.NewRequester(transport.Dialer{Addr: "tcp://127.0.0.1:" + ts.Getenv("RET")})
	defer r.Close()
	reply, err := r.Do(ctx, body)
	ts.Check(err)
	if !matcher(ts, args[1]).Match(reply) {
		ts.Fatalf("the master replies %q, want %s", reply, args[1])
	}
}
