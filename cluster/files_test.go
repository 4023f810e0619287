package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
)

// Each file that is missing or wrong is named with its option, and what to do.
func TestCheckFilesNamesOptionAndFile(t *testing.T) {
	dir := t.TempDir()
	key, text := filepath.Join(dir, "key"), filepath.Join(dir, "text")
	must(t, NewKey(key))
	must(t, os.WriteFile(text, []byte("text\n"), 0o600))
	open := filepath.Join(dir, "open")
	must(t, NewKey(open))
	must(t, os.Chmod(open, 0o644))
	none := filepath.Join(dir, "none")
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{KeyFile: none}, "key: there is no cluster key in " + none + "; copy it from another member"},
		{Options{KeyFile: open}, "key: bad cluster key file: " + open + ": its mode is 0644"},
		{Options{KeyFile: text}, "key: bad cluster key file: " + text + ": key 1 is not 64 hexadecimal digits"},
		{Options{KeyFile: key, TLS: TLS{CA: none}}, "tls: ca: there is no file " + none},
		{Options{KeyFile: key, TLS: TLS{CA: text}}, "tls: ca: " + text + " has no certificate"},
		{Options{KeyFile: key, TLS: TLS{Cert: text, Key: none}}, "tls: key: there is no file " + none},
		{Options{KeyFile: key, TLS: TLS{Cert: text, Key: text}}, "tls: cert: " + text + " with the key"},
		{Options{KeyFile: key, NKey: text}, "nkey: " + text + " has no seed of a user"},
		{Options{KeyFile: key, Credentials: none}, "credentials: there is no file " + none},
		{Options{KeyFile: key, Credentials: text}, "credentials: " + text + " is no credentials file"},
		{Options{KeyFile: none, Credentials: text}, "credentials: " + text + " is no credentials file"},
	} {
		err := tt.o.CheckFiles("")
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(*config.Finding)) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	if err := (Options{KeyFile: key}).CheckFiles(""); err != nil {
		t.Errorf("of good files: %v", err)
	}
	o := Options{Servers: []string{"nats://127.0.0.1:1"}, Member: "a", KeyFile: none}
	if _, err := Open(t.Context(), o); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "key: there is no cluster key in ") {
		t.Errorf("Open without a key file: %v", err)
	}
}

// A key file that the user of the master may not read is told with the command that mends it.
func TestAKeyFileOfAnotherUserIsNamed(t *testing.T) {
	need.Root(t, "since the file is another user's")
	key := filepath.Join(t.TempDir(), "key")
	must(t, NewKey(key))
	const want = "key: user nobody may not read "
	if err := (Options{KeyFile: key}).CheckFiles("nobody"); err == nil || !strings.HasPrefix(err.Error(), want+key+"; chown nobody: "+key) {
		t.Errorf("of root: %v", err)
	}
	for _, reader := range []string{"root", ""} {
		if err := (Options{KeyFile: key}).CheckFiles(reader); err != nil {
			t.Errorf("read by %q: %v", reader, err)
		}
	}
	f := fileFinding(key, "", &fs.PathError{Op: "open", Path: key, Err: fs.ErrPermission})
	if f.Text != "user root may not read "+key || !strings.HasPrefix(f.Suggestion, "chown root: "+key) {
		t.Errorf("of the present user: %v", f)
	}
}

// What a NATS server refuses names the option that is at fault, and the server.
func TestRefusedConnectionsNameTheOption(t *testing.T) {
	refused := func(t *testing.T, s *site, change func(*Options), want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		o := s.o
		o.Member = "a"
		change(&o)
		_, err := Open(ctx, o)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, new(*config.Finding)) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	t.Run("password", func(t *testing.T) {
		s := newSite(t, testnats.Options{User: "salt", Password: "right"})
		at := "NATS at " + s.o.addresses()
		refused(t, s, func(o *Options) { o.User, o.Password = "salt", "wrong" }, "user: "+at+": the login of user salt is refused")
		refused(t, s, func(o *Options) { o.User, o.Password = "", "" }, at+": the server demands a login")
	})
	t.Run("nkey", func(t *testing.T) {
		s := newSite(t, testnats.Options{NKey: true})
		refused(t, s, func(o *Options) { o.User, o.Password = "salt", "x" }, "user: ")
	})
	t.Run("TLS", func(t *testing.T) {
		s, other := newSite(t, testnats.Options{TLS: true}), newSite(t, testnats.Options{TLS: true})
		refused(t, s, func(o *Options) { o.TLS.CA = other.servers.CA }, "tls: ca: NATS at ")
		refused(t, s, func(o *Options) { o.TLS.CA = "" }, "tls: NATS at ")
	})
}
