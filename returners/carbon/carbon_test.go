package carbon

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a Carbon and what it gets in each connection.
func server(t *testing.T) (*data.Map, <-chan []byte) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan []byte, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(conn)
			conn.Close()
			got <- b
		}
	}()
	return data.NewMap("carbon.host", "127.0.0.1", "carbon.port", int64(l.Addr().(*net.TCPAddr).Port)), got
}

func at() time.Time { return time.Unix(1772366405, 0) }

// TestSaltsMetrics compares with the metrics that Salt 3006.18 sends by pickle at the same time.
func TestSaltsMetrics(t *testing.T) {
	opts, got := server(t)
	file := fakeweb.Load(t, "cases.json")
	for _, c := range fakeweb.Cases(t, file) {
		mine := opts.Clone()
		for k, v := range c.Value("opts").(*data.Map).All() {
			if !mine.Has(k) && k != "carbon.mode" {
				mine.Set(k, v)
			}
		}
		ret := file.Value("rets").([]any)[c.Value("ret").(int64)].(*data.Map)
		s := &sender{returners.MapSource(mine), at}
		err := s.Return(t.Context(), ret)
		if c.Value("metrics") == "error" {
			if !errors.Is(err, returners.ErrRefused) {
				t.Errorf("%s: %v, where Salt fails", data.Repr(ret), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", data.Repr(ret), err)
			continue
		}
		want := ""
		for _, m := range c.Value("metrics").([]any) {
			m := m.([]any)
			name := strings.NewReplacer(" ", "_", "\n", "_").Replace(data.Str(m[0]))
			want += name + " " + data.Str(m[2]) + " " + data.Str(m[1]) + "\n"
		}
		if sent := string(<-got); sent != want {
			t.Errorf("sent\n%s\nwant\n%s", sent, want)
		}
	}
}

// TestPythonReadsThePickle lets Python read what is sent in mode pickle.
func TestPythonReadsThePickle(t *testing.T) {
	need.Program(t, "python3")
	opts, got := server(t)
	opts.Set("carbon.mode", "Pickle")
	s := &sender{returners.MapSource(opts), at}
	if err := s.Return(t.Context(), data.NewMap("fun", "virt.x", "id", "web1", "return",
		data.NewMap("ä", 1.5, "b", "2", "c", []any{int64(3)}))); err != nil {
		t.Fatal(err)
	}
	sent := <-got
	if n := binary.BigEndian.Uint32(sent); int(n) != len(sent)-4 {
		t.Fatalf("length %d of %d bytes", n, len(sent)-4)
	}
	cmd := exec.Command("python3", "-c", "import pickle, sys; print(pickle.load(sys.stdin.buffer))")
	cmd.Stdin = strings.NewReader(string(sent[4:]))
	out, err := cmd.CombinedOutput()
	const want = "[('virt.x.ä', (1772366405, 1.5)), ('virt.x.b', (1772366405, 2.0)), ('virt.x.c.3', (1772366405, 3.0))]\n"
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
}

func TestEventsAndErrors(t *testing.T) {
	opts, got := server(t)
	err := OpenEvents(opts).ReturnEvents(t.Context(), []returners.Event{
		{Tag: "salt/beacon/web1/load/", Data: data.NewMap("data", data.NewMap("1m", 0.5, "text", "x"))}})
	if sent := string(<-got); err != nil || !strings.HasPrefix(sent, "salt/beacon/web1/load/.1m 0.5 ") ||
		strings.Count(sent, "\n") != 1 {
		t.Errorf("sent %q, %v", sent, err)
	}
	host, port := returnertest.Stranger(t)
	ret := data.NewMap("fun", "a.b", "id", "w", "return", int64(1), "ret_kwargs",
		data.NewMap("host", host, "port", int64(port)))
	if err := (&sender{returners.MapSource(opts), at}).Return(t.Context(), ret); err != nil {
		t.Error(err)
	}
	if sent := string(<-got); sent != "a.b.w 1.0 1772366405\n" {
		t.Errorf("sent %q", sent)
	}
	if err := (&sender{returners.MapSource(data.NewMap()), at}).Return(t.Context(), ret); err == nil {
		t.Error("without a server: no error")
	}
}
