package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/internal/test/freeport"
)

// An api is a salt-api that runs.
type api struct {
	command *exec.Cmd
	errors  *bytes.Buffer
	ended   chan struct{}
	url     string
	client  *http.Client
	login   login
	session string // of POST /login
	token   string // of the master
}

// Limits on the start and the stop of a program.
const (
	startTime = 60 * time.Second
	stopTime  = 15 * time.Second
)

// start starts a program with a copy of the master's configuration, and logs in.
func start(ctx context.Context, p *plan, dir, command string) (*api, error) {
	lease, err := freeport.Take(1)
	if err != nil {
		return nil, err
	}
	defer lease.Close() // salt-api has it then
	port := lease.Ports[0]
	etc, err := overlay(p, dir, port)
	if err != nil {
		return nil, fmt.Errorf("copy the configuration: %w", err)
	}
	words := strings.Fields(command)
	a := &api{errors: &bytes.Buffer{}, ended: make(chan struct{}), url: fmt.Sprintf("http://127.0.0.1:%d", port),
		login: p.login, token: p.token}
	a.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}}
	a.command = exec.Command(words[0], append(words[1:], "-c", etc)...)
	a.command.Stdout, a.command.Stderr = a.errors, a.errors
	a.command.WaitDelay = time.Second
	if err := a.command.Start(); err != nil {
		return nil, err
	}
	go func() { defer close(a.ended); _ = a.command.Wait() }() // a signal ends it
	err = a.ready(ctx)
	if err == nil {
		a.session, err = a.newSession(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.stop(), fmt.Errorf("it has written: %s", a.errors))
	}
	return a, nil
}

// overlay copies the configuration of the master and sets what is the program's own.
func overlay(p *plan, dir string, port int) (string, error) {
	etc, err := os.MkdirTemp(dir, "etc")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"master", "master.d"} {
		from := filepath.Join(p.master, name)
		info, err := os.Stat(from)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case info.IsDir():
			err = os.CopyFS(filepath.Join(etc, name), os.DirFS(from))
		default:
			err = copyFile(filepath.Join(etc, name), from)
		}
		if err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Join(etc, "master.d"), 0o700); err != nil {
		return "", err
	}
	many := p.streams + p.orders + p.logins
	own := fmt.Sprintf("default_include: master.d/*.conf\napi_logfile: %[1]s/log\napi_pidfile: %[1]s/pid\nrest_timeout: 60\n"+
		"rest_cherrypy: {host: 127.0.0.1, port: %[2]d, disable_ssl: true, max_streams: %[3]d, max_streams_per_user: %[3]d, "+
		"max_orders: %[3]d, max_orders_per_user: %[3]d}\n", etc, port, many+100)
	return etc, os.WriteFile(filepath.Join(etc, "master.d", "zz-apispeed.conf"), []byte(own), 0o600)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func (a *api) pid() int { return a.command.Process.Pid }

// ready waits until the program answers.
func (a *api) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("it does not answer"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, _, err := a.send(ctx, "GET", "/", nil); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-a.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop ends the program and its children.
func (a *api) stop() error {
	a.client.CloseIdleConnections()
	all, _ := tree(a.pid()) // none if it has ended
	_ = a.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.ended:
	case <-time.After(stopTime):
		_ = a.command.Process.Kill()
		<-a.ended
	}
	for _, s := range all {
		if left, err := statOf(s.pid); err == nil && left.parent <= 1 { // it was not reaped: nobody has its id since
			_ = syscall.Kill(s.pid, syscall.SIGKILL)
		}
	}
	return nil
}

// credentials are the fields of a login.
func (l login) credentials() map[string]any {
	return map[string]any{"username": l.user, "password": l.password, "eauth": l.eauth}
}

// newSession logs in and returns the session.
func (a *api) newSession(ctx context.Context) (string, error) {
	header, body, err := a.send(ctx, "POST", "/login", a.login.credentials())
	if err != nil {
		return "", err
	}
	session := header.Get("X-Auth-Token")
	if session == "" {
		return "", fmt.Errorf("POST /login: there is no session in %s", body)
	}
	return session, nil
}

// send sends a request with the session, if there is one. An answer that is not 200 is an error.
func (a *api) send(ctx context.Context, method, path string, body any) (http.Header, []byte, error) {
	answer, err := a.open(ctx, method, path, body)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, text)
	}
	return answer.Header, text, nil
}

// open sends a request. The caller closes the body of the answer.
func (a *api) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, a.url+path, reader)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if strings.HasPrefix(path, "/events") {
		r.Header.Set("Accept", "*/*")
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.session != "" {
		r.Header.Set("X-Auth-Token", a.session)
	}
	return a.client.Do(r)
}
