// Program apispeed compares a salt-api with Salt's in front of the same master: requests and events for
// each CPU second of the program with its children, and memory.
//
//	apispeed -master /etc/salt -salt /usr/bin/salt-api -brine bin/salt-api -password SECRET
//
// -master names the configuration directory of a master that runs on this host, with minions. Its
// external_auth must give the user all functions, and netapi_enable_clients must name local. Each
// program gets a copy of that configuration with a port of its own. Without -salt only one program is
// measured, as with
//
//	apispeed -master /etc/salt -brine bin/salt-api -streams 1000 -rate 500 -for 60s -rounds 1 -only events
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "apispeed:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	master      string // configuration directory
	salt, brine string // commands of salt-api
	login       login
	token       string // of the master, for the user
	rounds      int
	clients     int           // that send requests at the same time
	length      time.Duration // of each load
	streams     int
	rate        int // events in a second
	logins      int // at once
	orders      int // at once
	only        string
}

// A login is a user of external_auth.
type login struct{ user, password, eauth string }

func parse(args []string) (*plan, error) {
	p := &plan{}
	flags := flag.NewFlagSet("apispeed", flag.ContinueOnError)
	flags.StringVar(&p.master, "master", "", "the configuration directory of the master, which runs")
	flags.StringVar(&p.salt, "salt", "", "the command of Salt's salt-api; empty measures only -brine")
	flags.StringVar(&p.brine, "brine", "bin/salt-api", "the command of the salt-api to compare")
	flags.StringVar(&p.login.user, "user", "saltdev", "a user with all rights")
	flags.StringVar(&p.login.password, "password", "saltdev", "the password of the user")
	flags.StringVar(&p.login.eauth, "eauth", "file", "the kind of external_auth")
	flags.IntVar(&p.rounds, "rounds", 3, "how often each program is measured; the best counts")
	flags.IntVar(&p.clients, "clients", 4, "requests at a time")
	flags.DurationVar(&p.length, "for", 5*time.Second, "how long each load lasts")
	flags.IntVar(&p.streams, "streams", 50, "event streams that are open")
	flags.IntVar(&p.rate, "rate", 20, "events in a second")
	flags.IntVar(&p.logins, "logins", 200, "logins at once")
	flags.IntVar(&p.orders, "orders", 50, "orders to minions at once")
	flags.StringVar(&p.only, "only", "", "measure only what has this word in its name")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if p.master == "" || p.brine == "" || flags.NArg() > 0 {
		return nil, errors.New("it needs -master and -brine, and no arguments")
	}
	if p.rounds < 1 || p.clients < 1 || p.streams < 1 || p.rate < 1 || p.length <= 0 {
		return nil, errors.New("-rounds, -clients, -streams, -rate and -for must be above 0")
	}
	return p, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	p, err := parse(args)
	if err != nil {
		return err
	}
	cfg, _, err := config.LoadMaster(p.master, os.Getenv)
	if err != nil {
		return fmt.Errorf("read the configuration of the master: %w", err)
	}
	dir, err := os.MkdirTemp("", "apispeed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	token, remove, err := p.login.token(cfg)
	if err != nil {
		return err
	}
	defer remove()
	p.token = token
	if p.salt != "" {
		remove, err := markMaster(cfg.SockDir)
		if err != nil {
			return err
		}
		defer remove()
	}
	fmt.Fprintf(out, "load of this host: %s\n", loadAverage())
	r := newReport()
	for range p.rounds {
		for _, one := range []struct{ name, command string }{{"Salt", p.salt}, {"Brine", p.brine}} {
			if one.command == "" {
				continue
			}
			a, err := start(ctx, p, dir, one.command)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			err = measure(ctx, p, cfg.SockDir, a, r.column(one.name))
			if err = errors.Join(err, a.stop()); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
		}
	}
	r.write(out)
	fmt.Fprintf(out, "load of this host: %s\n", loadAverage())
	return nil
}

// token makes a token of the master. Those of POST /token would not do: a master may hide them in the
// events by which Salt's salt-api gets them. remove deletes it again.
func (l login) token(cfg *config.Master) (value string, remove func(), err error) {
	tokens, err := auth.OpenTokens(cfg.TokenDir, cfg.HashType, nil)
	if err != nil {
		return "", nil, fmt.Errorf("open the tokens of the master: %w", err)
	}
	now := float64(time.Now().Unix())
	m := data.NewMap("start", now, "expire", now+12*3600, "name", l.user, "eauth", l.eauth)
	if err := tokens.Add(m); err != nil {
		return "", nil, errors.Join(err, tokens.Close())
	}
	value = m.Text("token")
	return value, func() { _ = tokens.Delete(value); _ = tokens.Close() }, nil
}

// markMaster makes the file by which Salt's salt-api sees that a master runs (salt/netapi/__init__.py,
// _is_master_running), unless the master has made it. remove removes it again.
func markMaster(sockDir string) (remove func(), err error) {
	path := filepath.Join(sockDir, "workers.ipc")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mark the master as running: %w", err)
	}
	return func() { _ = os.Remove(path) }, f.Close()
}

// measure adds the figures of one program.
func measure(ctx context.Context, p *plan, sockDir string, a *api, add func(figure)) error {
	idle, err := memory(a.pid())
	if err != nil {
		return err
	}
	add(figure{"idle memory, KiB", float64(idle), lower})
	for _, one := range loads(p, sockDir) {
		if !strings.Contains(one.name, p.only) {
			continue
		}
		figures, err := one.run(ctx, a)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		for _, f := range figures {
			add(f)
		}
	}
	after, err := memory(a.pid())
	if err != nil {
		return err
	}
	add(figure{"memory after all that, KiB", float64(after), lower})
	return nil
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
