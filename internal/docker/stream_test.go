package docker_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/test/need"
)

func frame(stream byte, text string) string {
	header := []byte{stream, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return string(header) + text
}

func TestFrames(t *testing.T) {
	for _, tt := range []struct{ in, out, errs, fails string }{
		{"", "", "", ""},
		{frame(1, "a") + frame(2, "b") + frame(1, "") + frame(0, "c"), "ac", "b", ""},
		{frame(1, "abc")[:9], "a", "", "unexpected EOF"},
		{frame(1, "")[:5], "", "", "unexpected EOF"},
		{frame(3, "x"), "", "", "there is no stream 3"},
		{"\x01\x00\x01\x00\x00\x00\x00\x01x", "", "", "this is no header of a frame"},
		{"\x01\x00\x00\x00\xff\xff\xff\xffx", "x", "", "unexpected EOF"},
	} {
		var out, errs bytes.Buffer
		err := docker.Frames(iotest.OneByteReader(strings.NewReader(tt.in)), &out, &errs)
		if out.String() != tt.out || errs.String() != tt.errs || (err == nil) != (tt.fails == "") {
			t.Errorf("%q: %q, %q, %v", tt.in, out.String(), errs.String(), err)
		}
		if err != nil && !strings.HasSuffix(err.Error(), tt.fails) {
			t.Errorf("%q: %v, want %s", tt.in, err, tt.fails)
		}
	}
}

// TestFramesLimit checks that a container cannot fill the memory.
func TestFramesLimit(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("\x01\x00\x00\x00\xff\xff\xff\xff"), zeros{})
	if err := docker.Frames(endless, io.Discard, io.Discard); err == nil || !strings.HasSuffix(err.Error(), "it is too long") {
		t.Errorf("got %v", err)
	}
	if err := docker.Output(zeros{}, io.Discard); err == nil {
		t.Error("a terminal may print without end")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func FuzzFrames(f *testing.F) {
	f.Add([]byte(frame(1, "a") + frame(2, "b")))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out, errs bytes.Buffer
		err := docker.Frames(bytes.NewReader(in), &out, &errs)
		if n := out.Len() + errs.Len(); n > len(in) {
			t.Errorf("%d bytes of %d", n, len(in))
		}
		var again, other bytes.Buffer
		if second := docker.Frames(iotest.OneByteReader(bytes.NewReader(in)), &again, &other); (second == nil) != (err == nil) ||
			again.String() != out.String() || other.String() != errs.String() {
			t.Errorf("what arrives byte by byte differs: %v, %v", err, second)
		}
	})
}

func events(in string) (string, error) {
	var all []string
	for event, err := range docker.Events(strings.NewReader(in)) {
		if err != nil {
			return strings.Join(all, " "), err
		}
		all = append(all, data.Repr(event))
	}
	return strings.Join(all, " "), nil
}

func TestEvents(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"{\"a\": 1}\r\n\r\n{\"b\": [2]}\n": "{'a': 1} {'b': [2]}",
		`{"a": 1}`:                         "{'a': 1}",
	} {
		if got, err := events(in); got != want || err != nil {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"{", "[1]", "{}{}", strings.Repeat("x", 2<<20), `{"a": "` + strings.Repeat("x", 2<<20) + `"}`} {
		if got, err := events(in); err == nil || len(err.Error()) > 500 {
			t.Errorf("%.20q: %s, %v", in, got, err)
		}
	}
}

// watch returns the messages of a stream without end, and its errors.
func watch(r io.Reader) (string, error) {
	var all []string
	var errs []error
	for event, err := range docker.Watch(r) {
		if err == nil {
			all = append(all, data.Repr(event))
		}
		errs = append(errs, err)
	}
	return strings.Join(all, " "), errors.Join(errs...)
}

// A message that cannot be decoded does not end the stream, and one that is too long does.
func TestWatch(t *testing.T) {
	got, err := watch(strings.NewReader("{\"a\": 1}\r\n\r\n{\n[1]\n{\"b\": \"\xff\"}\n"))
	if got != "{'a': 1} {'b': '\uFFFD'}" || !errors.Is(err, docker.ErrMessage) ||
		strings.Count(err.Error(), "read message") != 2 {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = watch(strings.NewReader("{}\n" + strings.Repeat("x", 2<<20) + "\n{}\n"))
	if got != "{}" || !errors.Is(err, bufio.ErrTooLong) || errors.Is(err, docker.ErrMessage) {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestWatchHasNoEnd reads more than a stream of a request may have.
func TestWatchHasNoEnd(t *testing.T) {
	need.Time(t, "it reads 65 MiB")
	line := "{\"a\": \"" + strings.Repeat("x", 1<<16) + "\"}\n"
	n := 0
	for _, err := range docker.Watch(strings.NewReader(strings.Repeat(line, 1040))) {
		if err != nil {
			t.Fatalf("after %d messages: %v", n, err)
		}
		n++
	}
	if n != 1040 {
		t.Errorf("got %d messages", n)
	}
}

func FuzzWatch(f *testing.F) {
	f.Add("{\"Action\": \"die\"}\n{\n[]\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := watch(strings.NewReader(in))
		again, second := watch(iotest.OneByteReader(strings.NewReader(in)))
		if again != got || (err == nil) != (second == nil) {
			t.Errorf("what arrives byte by byte differs: %v, %v", err, second)
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add("{\"status\": \"Pulling\", \"id\": \"x\"}\r\n{\"errorDetail\": {\"message\": \"x\"}}\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := events(in)
		if again, second := events(in); again != got || (err == nil) != (second == nil) {
			t.Error("the second time differs")
		}
	})
}
