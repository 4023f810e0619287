// Program apispeed compares a salt-api with Salt's in front of the same master: requests and events for
// each CPU second of the program with its children, and memory.
//
//	apispeed -master /etc/salt -salt /usr/bin/salt-api -brine bin/salt-api -password SECRET
//
// -master names the configuration directory of a master that runs on this host, with minions. Its
// external_auth must give the user all functions and runners, and netapi_enable_clients must name local
// and runner. Each program gets a copy of that configuration with a port of its own. Without -salt only
// one program is measured, as with
//
//	apispeed -master /etc/salt -brine bin/salt-api -streams 1000 -rate 500 -for 60s -rounds 1 -only events
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "apispeed:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	master      string // configuration directory
	salt, brine string // commands of salt-api
	login       login
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
