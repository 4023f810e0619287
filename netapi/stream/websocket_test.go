package stream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// A pipeListener accepts connections in memory, which work with virtual time.
type pipeListener chan net.Conn

func (p pipeListener) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p pipeListener) Close() error { return nil }

func (p pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// A wsServer serves the websockets of one hub.
type wsServer struct {
	hub   *Hub
	o     WebSocketOptions
	f     Filter
	ended chan error // receives the result of each connection
}

func newWSServer(o WebSocketOptions) *wsServer {
	return &wsServer{hub: New(Options{MaxBytes: 1 << 30}), o: o, ended: make(chan error, 8)}
}

func (s *wsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l, err := s.hub.Listen(s.f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	defer l.Close()
	s.ended <- ServeWebSocket(w, r, l, s.o)
}

// pipes starts the server on pipes, and returns the function that dials it.
func (s *wsServer) pipes(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	l := make(pipeListener)
	server := &http.Server{Handler: s}
	go server.Serve(l) //nolint:errcheck // ends with the test
	t.Cleanup(func() {
		close(l)
		server.Close()
	})
	return l.dial
}

// connect opens a websocket to the server on pipes.
func (s *wsServer) connect(t *testing.T) *websocket.Conn {
	t.Helper()
	transport := &http.Transport{DialContext: s.pipes(t)}
	return open(t, "ws://salt/ws", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
}

func open(t *testing.T, url string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseNow() }) //nolint:errcheck // it may be closed
	return c
}

func say(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c *websocket.Conn, want string) {
	t.Helper()
	kind, b, err := c.Read(t.Context())
	if err != nil || kind != websocket.MessageText {
		t.Fatalf("read %v, %v; want %q", kind, err, want)
	}
	equal(t, "text", string(b), want)
}

func TestWebSocketIsSalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWSServer(WebSocketOptions{})
		c := s.connect(t)
		say(t, c, readyText)
		want := loadSalt(t).WS
		hear(t, c, want[0])
		synctest.Wait()
		for _, text := range want[1:] {
			fireJSON(t, s.hub, strings.TrimSuffix(strings.TrimPrefix(text, "data: "), "\n\n"))
			hear(t, c, text)
		}
		c.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the server's side counts
		if err := <-s.ended; err != nil {
			t.Errorf("ServeWebSocket = %v", err)
		}
	})
}

func TestWebSocketSendsNothingBeforeTheClientIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWSServer(WebSocketOptions{})
		c := s.connect(t)
		fire(t, s.hub, "early")
		for _, text := range []string{"", "websocket client ready\n", "Websocket client ready", " " + readyText} {
			say(t, c, text)
			hear(t, c, receivedText)
		}
		synctest.Wait()
		fire(t, s.hub, "also early")
		synctest.Wait()
		say(t, c, readyText)
		hear(t, c, receivedText)
		synctest.Wait()
		fire(t, s.hub, "in time")
		hear(t, c, "data: {\"data\": {}, \"tag\": \"in time\"}\n\n")
		say(t, c, readyText) // a second one changes nothing
		hear(t, c, receivedText)
		fire(t, s.hub, "later")
		hear(t, c, "data: {\"data\": {}, \"tag\": \"later\"}\n\n")
	})
}

func TestWebSocketResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWSServer(WebSocketOptions{})
		fire(t, s.hub, "one")
		fire(t, s.hub, "two")
		s.f.After = s.hub.run + "-1"
		c := s.connect(t)
		say(t, c, readyText)
		hear(t, c, receivedText)
		hear(t, c, "data: {\"data\": {}, \"tag\": \"two\"}\n\n")
	})
}

func TestWebSocketOfTornado(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWSServer(WebSocketOptions{Tornado: true})
		c := s.connect(t)
		say(t, c, "hello")
		say(t, c, readyText)
		synctest.Wait()
		fire(t, s.hub, "t")
		hear(t, c, `{"data": {}, "tag": "t"}`)
	})
}

func TestWebSocketEndsAtExpiry(t *testing.T) {
	for name, texts := range map[string][]string{"ready": {readyText}, "not ready": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s := newWSServer(WebSocketOptions{Life: Life{Until: begin.Add(99 * time.Second)}})
				c := s.connect(t)
				for _, text := range texts {
					say(t, c, text)
					hear(t, c, receivedText)
				}
				_, _, err := c.Read(t.Context())
				if code := websocket.CloseStatus(err); code != websocket.StatusPolicyViolation {
					t.Errorf("close code %d, %v", code, err)
				}
				if err := <-s.ended; !errors.Is(err, ErrExpired) || time.Since(begin) != 99*time.Second {
					t.Errorf("ServeWebSocket = %v after %v", err, time.Since(begin))
				}
			})
		})
	}
}

func TestWebSocketEndsWithTheHub(t *testing.T) {
	for name, texts := range map[string][]string{"ready": {readyText}, "not ready": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newWSServer(WebSocketOptions{})
				c := s.connect(t)
				for _, text := range texts {
					say(t, c, text)
					hear(t, c, receivedText)
				}
				close(s.hub.done)
				_, _, err := c.Read(t.Context())
				if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
					t.Errorf("close code %d, %v", code, err)
				}
				if err := <-s.ended; !errors.Is(err, ErrClosed) {
					t.Errorf("ServeWebSocket = %v", err)
				}
			})
		})
	}
}

func TestWebSocketRejects(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		code websocket.StatusCode
		err  error
	}{
		"more than 4 KiB": {strings.Repeat("x", maxClientText+1), websocket.StatusMessageTooBig,
			websocket.ErrMessageTooBig},
		"text outside UTF-8": {"\xff", websocket.StatusInvalidFramePayloadData, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newWSServer(WebSocketOptions{})
				c := s.connect(t)
				say(t, c, tt.text)
				_, _, err := c.Read(t.Context())
				if code := websocket.CloseStatus(err); code != tt.code {
					t.Errorf("close code %d, %v", code, err)
				}
				if err := <-s.ended; err == nil || tt.err != nil && !errors.Is(err, tt.err) {
					t.Errorf("ServeWebSocket = %v", err)
				}
			})
		})
	}
}

// handshake opens a websocket by hand on a connection and reads the answer's headers.
func handshake(t *testing.T, conn net.Conn) *bufio.Reader {
	t.Helper()
	const request = "GET /ws HTTP/1.1\r\nHost: salt\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("handshake: %v, %v", resp, err)
	}
	return r
}

// readyFrame is the client's text "websocket client ready" as a frame, masked with zeros.
const readyFrame = "\x81\x96\x00\x00\x00\x00" + readyText

func TestClientThatAnswersNoPingIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := newWSServer(WebSocketOptions{})
		conn, _ := s.pipes(t)(t.Context(), "", "")
		r := handshake(t, conn)
		b, err := io.ReadAll(r)
		equal(t, "frames", string(b), "\x89\x011") // one ping
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
		if err := <-s.ended; !errors.Is(err, ErrSlow) || time.Since(begin) != 25*time.Second {
			t.Errorf("ServeWebSocket = %v after %v", err, time.Since(begin))
		}
	})
}

func TestClientThatAnswersPingsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWSServer(WebSocketOptions{})
		c := s.connect(t)
		ctx := c.CloseRead(t.Context()) // answers pings
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error("the connection was closed")
		}
	})
}

func TestWebSocketClientThatStopsReadingIsCut(t *testing.T) {
	for name, frames := range map[string]string{
		"events":  readyFrame,
		"answers": strings.Repeat(readyFrame, 2),
		"pongs":   strings.Repeat("\x89\x80\x00\x00\x00\x00", 2),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s := newWSServer(WebSocketOptions{})
				conn, _ := s.pipes(t)(t.Context(), "", "")
				defer conn.Close()
				r := handshake(t, conn)
				go io.WriteString(conn, frames) //nolint:errcheck // the server may be gone
				if name == "events" {
					if _, err := r.Discard(2 + len(receivedText)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					fire(t, s.hub, "t")
				}
				if err := <-s.ended; !errors.Is(err, ErrSlow) || time.Since(begin) > 10*time.Second {
					t.Errorf("ServeWebSocket = %v after %v", err, time.Since(begin))
				}
			})
		})
	}
}

func TestWebSocketSlowReaderIsCut(t *testing.T) {
	s := newWSServer(WebSocketOptions{Life: Life{WriteTimeout: 50 * time.Millisecond}})
	s.f.After = s.hub.run + "-0"
	server := httptest.NewServer(s)
	defer server.Close()
	c := open(t, "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	say(t, c, readyText)
	hear(t, c, receivedText)
	for range 30 { // more than the buffers of both sockets hold
		fire(t, s.hub, "large", "text", strings.Repeat("x", 1<<20))
	}
	if err := <-s.ended; !errors.Is(err, ErrSlow) {
		t.Errorf("ServeWebSocket = %v", err)
	}
}

func TestClientThatVanishesIsNoError(t *testing.T) {
	s := newWSServer(WebSocketOptions{})
	server := httptest.NewServer(s)
	defer server.Close()
	c := open(t, "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	c.CloseNow() //nolint:errcheck // no handshake is the point
	if err := <-s.ended; err != nil {
		t.Errorf("ServeWebSocket = %v", err)
	}
}

func TestForeignOriginIsRefused(t *testing.T) {
	s := newWSServer(WebSocketOptions{})
	server := httptest.NewServer(s)
	defer server.Close()
	_, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"),
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example.com"}}})
	if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("Dial = %v, %v", resp, err)
	}
	if err := <-s.ended; err == nil {
		t.Errorf("ServeWebSocket = %v", err)
	}
}

func TestRequestThatIsNoHandshakeIsRefused(t *testing.T) {
	s := newWSServer(WebSocketOptions{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/ws", nil))
	if err := <-s.ended; err == nil || w.Code != http.StatusUpgradeRequired {
		t.Errorf("status %d, %v", w.Code, err)
	}
}

// TestWebSocketEndsWithItsRequest checks that the end of the request's context, by which a server stops,
// ends the connection, also that of a client who reads nothing.
func TestWebSocketEndsWithItsRequest(t *testing.T) {
	for name, most := range map[string]time.Duration{"a client that reads": 0, "a client that reads nothing": closePatience} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				s := newWSServer(WebSocketOptions{})
				l := make(pipeListener)
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					s.ServeHTTP(w, r.WithContext(ctx))
				})}
				go server.Serve(l) //nolint:errcheck // ends with the test
				defer server.Close()
				defer close(l)
				c := open(t, "ws://salt/ws", &websocket.DialOptions{
					HTTPClient: &http.Client{Transport: &http.Transport{DialContext: l.dial}}})
				say(t, c, readyText)
				hear(t, c, receivedText)
				synctest.Wait()
				if most == 0 {
					go c.Read(t.Context()) //nolint:errcheck // it answers the end
				} else {
					fire(t, s.hub, "t")
					synctest.Wait() // the event is being written
				}
				begin := time.Now()
				stop(errors.New("server stops"))
				if err := <-s.ended; !errors.Is(err, ErrClosed) || time.Since(begin) > most {
					t.Errorf("ServeWebSocket = %v after %v", err, time.Since(begin))
				}
			})
		})
	}
}
