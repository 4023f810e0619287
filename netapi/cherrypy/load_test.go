package cherrypy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/netapitest"
)

// TestLoad puts much on one site at once: streams, logins and orders.
func TestLoad(t *testing.T) {
	need.Time(t, "it opens hundreds of connections")
	s := netapitest.Start(t, door(), "main", "m1", "m2")
	session := s.LogIn(t, "saltdev")
	t.Run("200 streams get 2000 events", func(t *testing.T) { manyStreams(t, s, session, 200, 2000) })
	t.Run("200 logins at once", func(t *testing.T) { manyLogins(t, s, 200) })
	t.Run("50 orders at once", func(t *testing.T) { manyOrders(t, s, session, 50) })
}

// atOnce calls a function n times at once and reports the errors.
func atOnce(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%.2000v", err)
	}
}

// manyStreams checks that each stream gets each event, once and in order.
func manyStreams(t *testing.T, s *netapitest.Site, session string, streams, events int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bodies := make([]io.ReadCloser, streams)
	atOnce(t, streams, func(i int) error {
		answer, err := send(ctx, s, session, "GET", "/events", "")
		if err != nil {
			return err
		}
		bodies[i] = answer.Body
		return nil
	})
	defer func() {
		for _, b := range bodies {
			b.Close()
		}
	}()
	firing := make(chan error, 1)
	bus := s.Master.Listen(t, "no event")
	go func() {
		for i := range events {
			if err := bus.Fire(ctx, "load/"+strconv.Itoa(i), data.NewMap("n", int64(i))); err != nil {
				firing <- err
				return
			}
		}
		firing <- nil
	}()
	atOnce(t, streams, func(i int) error {
		lines := bufio.NewScanner(bodies[i])
		for next := 0; next < events; {
			if !lines.Scan() {
				return fmt.Errorf("stream %d ends before event %d: %w", i, next, lines.Err())
			}
			tag, ok := strings.CutPrefix(lines.Text(), "tag: ")
			if !ok || !strings.HasPrefix(tag, "load/") && tag != "brine/stream/lost" {
				continue
			}
			if want := "load/" + strconv.Itoa(next); tag != want {
				return fmt.Errorf("stream %d has the event %s, want %s", i, tag, want)
			}
			next++
		}
		return nil
	})
	if err := <-firing; err != nil {
		t.Error(err)
	}
}

// manyLogins checks that each login gets a session of its own.
func manyLogins(t *testing.T, s *netapitest.Site, logins int) {
	sessions := make([]string, logins)
	atOnce(t, logins, func(i int) error {
		answer, err := send(t.Context(), s, "", "POST", "/login", `{"username": "saltdev", "password": "saltdev", "eauth": "file"}`)
		if err != nil {
			return err
		}
		sessions[i] = answer.Header.Get("X-Auth-Token")
		return answer.Body.Close()
	})
	known := map[string]bool{}
	for _, session := range sessions {
		if session == "" || known[session] {
			t.Fatalf("a login has the session %q, which another one has", session)
		}
		known[session] = true
	}
}

// manyOrders checks that each order gets the answers of all minions to itself.
func manyOrders(t *testing.T, s *netapitest.Site, session string, orders int) {
	atOnce(t, orders, func(i int) error {
		text := fmt.Sprintf("order %d", i)
		answer, err := send(t.Context(), s, session, "POST", "/",
			fmt.Sprintf(`{"client": "local", "tgt": "*", "fun": "test.echo", "arg": [%q], "timeout": 30}`, text))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		var got struct{ Return []map[string]any }
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if len(got.Return) != 1 || len(got.Return[0]) != 2 || got.Return[0]["m1"] != text || got.Return[0]["m2"] != text {
			return fmt.Errorf("%s: the answer is %v", text, got.Return)
		}
		return nil
	})
}

// send sends a request. An answer that is not 200 is an error.
func send(ctx context.Context, s *netapitest.Site, session, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.Server.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "*/*")
	if body != "" {
		r.Header.Set("Content-Type", asJSON)
	}
	if session != "" {
		r.Header.Set("X-Auth-Token", session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return answer, nil
}
