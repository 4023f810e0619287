package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A load is what a program is given to do.
type load struct {
	name string
	run  func(context.Context, *api) ([]figure, error)
}

// loads returns all loads.
func loads(p *plan, sockDir string) []load {
	perSecond := func(name string, do func(context.Context, *api) error) load {
		return load{name, func(ctx context.Context, a *api) ([]figure, error) { return p.repeat(ctx, a, name, do) }}
	}
	return []load{
		perSecond("POST /run test.ping, login in the chunk", pingWithLogin),
		perSecond("POST /run test.ping, token", pingWithToken),
		perSecond("GET /minions", grains),
		{"logins at once", p.manyLogins},
		{"orders at once", p.manyOrders},
		{"events", func(ctx context.Context, a *api) ([]figure, error) { return p.events(ctx, a, sockDir) }},
	}
}

// repeat lets clients send requests for some time.
func (p *plan) repeat(ctx context.Context, a *api, name string, do func(context.Context, *api) error) ([]figure, error) {
	if err := do(ctx, a); err != nil { // what is done once only does not count
		return nil, err
	}
	used, err := cpu(a.pid())
	if err != nil {
		return nil, err
	}
	var done atomic.Int64
	end := time.Now().Add(p.length)
	err = together(p.clients, func(int) error {
		for time.Now().Before(end) {
			if err := do(ctx, a); err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now, err := cpu(a.pid())
	return []figure{{name + ", requests per CPU s", float64(done.Load()) / (now - used).Seconds(), higher}}, err
}

// together calls a function n times at once.
func together(n int, do func(i int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func ping() map[string]any {
	return map[string]any{"client": "local", "tgt": "*", "fun": "test.ping"}
}

func pingWithLogin(ctx context.Context, a *api) error {
	chunk := ping()
	for name, v := range a.login.credentials() {
		chunk[name] = v
	}
	return pinged(a.send(ctx, "POST", "/run", []any{chunk}))
}

func pingWithToken(ctx context.Context, a *api) error {
	chunk := ping()
	chunk["token"] = a.token
	return pinged(a.send(ctx, "POST", "/run", []any{chunk}))
}

// pinged checks that all minions have answered.
func pinged[H any](_ H, body []byte, err error) error {
	if err != nil {
		return err
	}
	var answer struct{ Return []map[string]any }
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("test.ping: %w", err)
	}
	if len(answer.Return) != 1 || len(answer.Return[0]) == 0 {
		return fmt.Errorf("test.ping: no minion in %s", body)
	}
	for id, v := range answer.Return[0] {
		if v != true {
			return fmt.Errorf("test.ping: %s answers %v", id, v)
		}
	}
	return nil
}

func grains(ctx context.Context, a *api) error {
	_, body, err := a.send(ctx, "GET", "/minions", nil)
	if err != nil {
		return err
	}
	var answer struct{ Return []map[string]map[string]any }
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("GET /minions: %w", err)
	}
	if len(answer.Return) != 1 || len(answer.Return[0]) == 0 {
		return fmt.Errorf("GET /minions: no minion in %.300s", body)
	}
	for id, m := range answer.Return[0] {
		if m["id"] != id {
			return fmt.Errorf("GET /minions: %s has the id %v", id, m["id"])
		}
	}
	return nil
}

// manyLogins logs in many times at once. Each login must give another session.
func (p *plan) manyLogins(ctx context.Context, a *api) ([]figure, error) {
	plain := *a
	plain.session = "" // a new login would take its place
	sessions := make([]string, p.logins)
	seconds, used, err := a.timed(func() error {
		return together(p.logins, func(i int) (err error) {
			sessions[i], err = plain.newSession(ctx)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	distinct := map[string]bool{}
	for _, s := range sessions {
		distinct[s] = true
	}
	if len(distinct) != p.logins {
		return nil, errors.New("two logins have the same session")
	}
	name := fmt.Sprintf("%d logins at once", p.logins)
	return []figure{{name + ", s", seconds, lower}, {name + ", CPU s", used, lower}}, nil
}

// manyOrders orders many times at once.
func (p *plan) manyOrders(ctx context.Context, a *api) ([]figure, error) {
	seconds, used, err := a.timed(func() error {
		return together(p.orders, func(int) error { return pingWithToken(ctx, a) })
	})
	name := fmt.Sprintf("%d orders at once", p.orders)
	return []figure{{name + ", s", seconds, lower}, {name + ", CPU s", used, lower}}, err
}

// timed returns how long a function takes, and the CPU seconds of the program meanwhile.
func (a *api) timed(do func() error) (seconds, used float64, err error) {
	before, err := cpu(a.pid())
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	seconds = time.Since(began).Seconds()
	after, err := cpu(a.pid())
	return seconds, (after - before).Seconds(), err
}
