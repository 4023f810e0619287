// Package saltswarm is the program salt-swarm: simulated minions, for sizing a master.
package saltswarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	urfave "github.com/urfave/cli/v2"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/swarm"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	app := &urfave.App{
		Name: "salt-swarm", HelpName: "salt-swarm", Writer: stdout, ErrWriter: stderr,
		Usage: "run simulated minions against a master",
		UsageText: "salt-swarm [options]\n\nEach minion has its own key and connections, signs " +
			"in and answers jobs (test.ping, test.echo, test.sleep, grains.items, state.apply).\n" +
			"The master must accept the keys: auto_accept: True, or salt-key -A. SIGINT ends the swarm.",
		Flags: flags(), HideHelpCommand: true,
		Action:         func(c *urfave.Context) error { return act(c, stdout, stderr) },
		ExitErrHandler: func(*urfave.Context, error) {},
		OnUsageError:   func(_ *urfave.Context, err error, _ bool) error { return &usageError{err} },
	}
	err := app.RunContext(ctx, append([]string{"salt-swarm"}, in.Args...))
	var wrong *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "Usage: salt-swarm [options]\n\nsalt-swarm: error: %v\n", err)
		return cli.ExitUsage
	}
	fmt.Fprintf(stderr, "salt-swarm: %v\n", err)
	return 1
}

// A usageError reports an invalid command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func flags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.IntFlag{Name: "count", Aliases: []string{"n"}, Value: 100,
			Usage: "how many minions"},
		&urfave.StringFlag{Name: "master", Aliases: []string{"m"}, Value: "127.0.0.1:4506",
			Usage: "`HOST:PORT` of the master's request port"},
		&urfave.StringSliceFlag{Name: "masters",
			Usage: "several masters in place of --master, `HOST:PORT,...`; each minion has one of them, " +
				"begins with the next in turn, and moves on when its master is lost"},
		&urfave.BoolFlag{Name: "hot-hot", Usage: "connect each minion to all masters at once"},
		&urfave.DurationFlag{Name: "alive", Value: 30 * time.Second,
			Usage: "time between a minion's questions whether its master of several answers"},
		&urfave.DurationFlag{Name: "patience", Value: 10 * time.Second,
			Usage: "time that one of several masters has to answer a request, before the minion tries " +
				"another"},
		&urfave.StringFlag{Name: "sources",
			Usage: "connect from these local `ADDRESSES` in turn, such as 127.0.1.1-127.0.1.4; each is " +
				"good for 28,000 connections"},
		&urfave.StringFlag{Name: "transport", Value: "zeromq",
			Usage: "`NAME` of the master's transport, zeromq or tcp"},
		&urfave.StringFlag{Name: "prefix", Value: "swarm",
			Usage: "of the minions' ids; a number of five digits follows"},
		&urfave.StringFlag{Name: "keys",
			Usage: "keep the minions' keys in `DIR`, since making one takes a tenth of a second"},
		&urfave.IntFlag{Name: "distinct-keys",
			Usage: "number of keys to make and assign in turn; 0 makes one for each minion"},
		&urfave.IntFlag{Name: "joining", Value: 64, Usage: "concurrent sign-ins"},
		&urfave.StringFlag{Name: "like",
			Usage: "sign in as minions of Salt `RELEASE` do, 3006.0 (protocol 2) or 3006.18 (protocol 3), with their timeouts"},
		&urfave.IntFlag{Name: "protocol2", Usage: "of a hundred minions, how many speak protocol version 2"},
		&urfave.BoolFlag{Name: "filter",
			Usage: "subscribe to topics, for a master with zmq_filtering"},
		&urfave.IntFlag{Name: "short",
			Usage: "connect for each request, `N` at once at most, instead of keeping a connection for each minion; it halves the open files"},
		&urfave.IntFlag{Name: "events", Usage: "events that each minion fires"},
		&urfave.IntFlag{Name: "returns",
			Usage: "returns that each minion sends without being asked"},
		&urfave.IntFlag{Name: "pings", Usage: "clear pings that each minion sends"},
		&urfave.IntFlag{Name: "size", Usage: "bytes of text in each of these returns; 0 returns True"},
		&urfave.IntFlag{Name: "state-size", Value: 20_000,
			Usage: "bytes of the results of state.apply, state.sls and state.highstate"},
		&urfave.StringFlag{Name: "fetch",
			Usage: "file of the saltenv base that each minion pulls, by its `PATH`"},
		&urfave.IntFlag{Name: "load", Value: 16, Usage: "concurrent requests of this load"},
		&urfave.DurationFlag{Name: "for",
			Usage: "end after this time; 0 goes on until a signal, or until the load is done where there is one"},
		&urfave.DurationFlag{Name: "report", Value: 5 * time.Second, Usage: "time between reports"},
		&urfave.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log each failure"},
	}
}

func act(c *urfave.Context, stdout, stderr io.Writer) error {
	if c.NArg() > 0 {
		return &usageError{fmt.Errorf("salt-swarm accepts only options, no argument %q",
			c.Args().First())}
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	if d := c.Duration("for"); d > 0 {
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if c.Int("count") < 1 {
		return &usageError{fmt.Errorf("--count: at least one minion is needed, not %d",
			c.Int("count"))}
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	if c.Bool("verbose") {
		log.SetOutput(stderr)
	}
	fmt.Fprintf(stdout, "making or reading %d keys\n", c.Int("count"))
	o, err := options(c, log)
	if err != nil {
		return err
	}
	s, err := swarm.New(o)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	start := time.Now()
	go func() { done <- s.Run(ctx) }()
	return watch(cancel, c, s, start, done, stdout)
}

func options(c *urfave.Context, log *logrus.Logger) (swarm.Options, error) {
	cfg := config.DefaultMinion()
	cfg.Transport = c.String("transport")
	if cfg.Transport != "tcp" && cfg.Transport != "zeromq" {
		return swarm.Options{}, &usageError{fmt.Errorf("--transport: invalid value %q; use tcp or zeromq", cfg.Transport)}
	}
	like, err := swarm.ParseLike(c.String("like"))
	if err != nil {
		return swarm.Options{}, &usageError{fmt.Errorf("--like: %w", err)}
	}
	sources, err := swarm.ParseSources(c.String("sources"))
	if err != nil {
		return swarm.Options{}, &usageError{fmt.Errorf("--sources: %w", err)}
	}
	if old := c.Int("protocol2"); old < 0 || old > 100 {
		return swarm.Options{}, &usageError{fmt.Errorf("--protocol2: invalid value %d; use 0 to 100", old)}
	}
	wire, err := cli.MinionWire(cfg)
	return swarm.Options{
		Like: like, Old: c.Int("protocol2"),
		Masters: c.StringSlice("masters"), HotHot: c.Bool("hot-hot"), Sources: sources,
		Alive: c.Duration("alive"), Patience: c.Duration("patience"), StateSize: c.Int("state-size"),
		Count: c.Int("count"), Prefix: c.String("prefix"), Master: c.String("master"),
		Joining: c.Int("joining"), Filter: c.Bool("filter"), Short: c.Int("short"),
		Keys:   swarm.Keys{Dir: c.String("keys"), Distinct: c.Int("distinct-keys")},
		Events: c.Int("events"), Returns: c.Int("returns"), Pings: c.Int("pings"),
		Size: c.Int("size"), Fetch: c.String("fetch"), Load: c.Int("load"), Log: log,
		Ports: swarm.Ports{Request: wire.Request, Subscribe: wire.Subscribe},
	}, err
}

// watch reports the activity of the swarm until it ends.
func watch(
	cancel context.CancelFunc, c *urfave.Context, s *swarm.Swarm, start time.Time,
	done <-chan error, stdout io.Writer,
) error {
	tick := time.NewTicker(c.Duration("report"))
	defer tick.Stop()
	ready, loaded, asked := s.Ready(), s.Loaded(), false
	if c.Int("events")+c.Int("returns")+c.Int("pings") == 0 && c.String("fetch") == "" {
		loaded = nil
	}
	for {
		select {
		case <-ready:
			ready = nil
			fmt.Fprintf(stdout, "all %d minions listen after %.1f s\n", c.Int("count"),
				time.Since(start).Seconds())
			start = time.Now()
		case <-loaded:
			loaded = nil
			fmt.Fprintf(stdout, "the load is done after %.2f s\n", time.Since(start).Seconds())
			cancel()
		case err := <-done:
			report(stdout, s, start)
			return err
		case <-tick.C:
			report(stdout, s, start)
			masters := strings.Join(c.StringSlice("masters"), " or ")
			if !asked && s.Stats.SignedIn.Load() == 0 {
				asked = true
				fmt.Fprintf(stdout, "nobody has signed in: does a master listen on %s, "+
					"and does it accept the keys (auto_accept: True, or salt-key -A)?\n",
					cmp.Or(masters, c.String("master")))
			}
		}
	}
}

func report(w io.Writer, s *swarm.Swarm, start time.Time) {
	st := &s.Stats
	fmt.Fprintf(w, "%6.1f s: signed in %d, listening %d, jobs %d, returns acknowledged %d, "+
		"requests %d, failures %d%s\n", time.Since(start).Seconds(), st.SignedIn.Load(), st.Listening.Load(),
		st.Jobs.Load(), st.Returned.Load(), st.Requests.Load(), st.Failures.Load(), rare(st))
}

// rare returns what is not counted in every run.
func rare(st *swarm.Stats) string {
	text := ""
	for _, c := range []struct {
		name  string
		count int64
	}{
		{"moves", st.Moves.Load()}, {"repeated jobs", st.Repeated.Load()},
		{"returns sent again", st.Resent.Load()}, {"stale publications", st.Stale.Load()},
	} {
		if c.count > 0 {
			text += fmt.Sprintf(", %s %d", c.name, c.count)
		}
	}
	return text
}
