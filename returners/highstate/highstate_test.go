package highstate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
)

func reporterOf(t *testing.T, opts *data.Map) *reporter {
	t.Helper()
	return &reporter{from: returners.MapSource(opts),
		grains: func() *data.Map { return data.NewMap("host", "web1") },
		call: func(_ context.Context, fun string) (any, error) {
			if fun != "test.fail" {
				return nil, errors.New(fun)
			}
			return data.NewMap("b", data.NewMap("x", int64(1)), "a", []any{int64(1)}), nil
		}}
}

// TestSaltsReports compares reports with those of Salt 3006.18.
func TestSaltsReports(t *testing.T) {
	file, dir := fakeweb.Load(t, "cases.json"), t.TempDir()
	for _, c := range fakeweb.Cases(t, file) {
		opts := c.Value("opts").(*data.Map).Clone()
		opts.Set("highstate.file_output", dir+"/{host}.rpt")
		ret := data.Clone(file.Value("rets").([]any)[c.Value("ret").(int64)]).(*data.Map)
		ret.Set("ret_kwargs", data.NewMap("file_output", dir+"/elsewhere"))
		if c.Value("nochange") == true {
			for _, v := range ret.Value("return").(*data.Map).All() {
				v.(*data.Map).Set("changes", data.NewMap())
			}
		}
		at := filepath.Join(dir, "web1.rpt")
		os.Remove(at)
		if err := reporterOf(t, opts).Return(t.Context(), ret); err != nil {
			t.Errorf("%s: %v", data.Repr(opts), err)
			continue
		}
		got, err := os.ReadFile(at)
		if c.Value("text") == nil {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: there is a report: %s", data.Repr(opts), got)
			}
			continue
		}
		if err != nil || string(got) != c.Text("text") {
			t.Errorf("%s: %v\n%s\nwant\n%s", data.Repr(opts), err, got, c.Text("text"))
		}
	}
	if _, err := os.Stat(dir + "/elsewhere"); err == nil {
		t.Error("the submitter of a job chose the file")
	}
}

// TestMail sends a report to a small mail server.
// mailed returns what a mail server gets for a return, with further options.
func mailed(t *testing.T, more ...any) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "220 here\r\n")
		text, inData := "", false
		for in := bufio.NewScanner(conn); in.Scan(); {
			text += in.Text() + "\n"
			switch {
			case in.Text() == "DATA":
				inData = true
				fmt.Fprint(conn, "354 go on\r\n")
			case in.Text() == ".":
				inData = false
				fmt.Fprint(conn, "250 taken\r\n")
			case in.Text() == "QUIT":
				fmt.Fprint(conn, "221 bye\r\n")
				said <- text
				return
			case !inData:
				fmt.Fprint(conn, "250 fine\r\n")
			}
		}
	}()
	states := data.NewMap("test_|-a_|-b_|-nop", data.NewMap("result", false, "__run_num__", int64(0)))
	opts := data.NewMap("highstate.report_delivery", "smtp", "highstate.smtp_server", l.Addr().String(),
		"highstate.smtp_sender", "a@example.com", "highstate.smtp_recipients", "b@example.com, c@example.com",
		"highstate.smtp_failure_subject", "{host} is bad\r\nBcc: x@example.com")
	opts.Update(data.NewMap(more...))
	if err := reporterOf(t, opts).Return(t.Context(), data.NewMap("return", states)); err != nil {
		t.Fatal(err)
	}
	return <-said
}

func TestMail(t *testing.T) {
	got := mailed(t)
	for _, want := range []string{"MAIL FROM:<a@example.com>", "RCPT TO:<b@example.com>\nRCPT TO:<c@example.com>\nDATA",
		"Subject: web1 is bad Bcc: x@example.com\n", "Content-Type: text/yaml", "\n- stats:\n  - total: 1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the server got no %q:\n%s", want, got)
		}
	}
	got = mailed(t, "highstate.report_format", "yaml\r\nBcc: y@example.com")
	if !strings.Contains(got, "Content-Type: text/html; charset") || strings.Contains(got, "y@example.com") {
		t.Errorf("the format gets into the header:\n%s", got)
	}
}

func TestOtherReturnsAndSettings(t *testing.T) {
	dir := t.TempDir()
	opts := data.NewMap("highstate.file_output", dir+"/r", "highstate.report_changes", false)
	if err := reporterOf(t, opts).Return(t.Context(), data.NewMap("return", true)); !errors.Is(err, returners.ErrRefused) {
		t.Errorf("a return without states: %v", err)
	}
	changed := data.NewMap("test_|-a_|-b_|-nop", data.NewMap("result", true, "changes", data.NewMap("x", "y")))
	if err := reporterOf(t, opts).Return(t.Context(), data.NewMap("return", changed)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/r"); err == nil {
		t.Error("report_changes: False has no effect")
	}
	opts.Update(data.NewMap("highstate.report_everything", true, "highstate.success_function", "no.such"))
	if err := reporterOf(t, opts).Return(t.Context(), data.NewMap("return", changed)); err == nil {
		t.Error("a function that fails: no error")
	}
}
